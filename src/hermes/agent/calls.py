"""A batch of tool calls: plan, journal, run, order. Results come back in call order, whatever order they finish in."""

import hashlib
import os.path
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import msgspec

from hermes.agent.outside import listening, origin
from hermes.lib.aio import collect
from hermes.lib.secretvalues import SecretValues, Veil
from hermes.tools.dispatch import Dispatcher, Outcome
from hermes.tools.needs import secret_for
from hermes.tools.policy import ToolPolicy, policy_of
from hermes.tools.registry import tool_error, unknown_tool
from hermes.types.event import Event, ToolFinished, ToolProgress, ToolStarted
from hermes.types.message import ToolCall, ToolResult
from hermes.types.ports import Ports
from hermes.types.question import Answer, Question
from hermes.types.tool import Snapshot, TodoList, ToolEntry
from hermes.types.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

AT_ONCE = 8
INTERRUPTED = "The call was interrupted by the user before it ended; what it had done until then stands."
NOT_STARTED = "The call was not run: the user stopped the turn first."


class Journal(Protocol):
    """Where intents and outcomes are written before and after effects."""

    def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        """Write an intent."""

    def finish(self, session_id: str, result: ToolResult) -> None:
        """Write an outcome."""

    def settle(self, session_id: str) -> None:
        """Forget them: the log has the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What calls need of their session."""

    session_id: str
    tools: Snapshot
    dispatcher: Dispatcher
    journal: Journal
    ports: Ports
    workspace: "Callable[[], Workspace]"
    todos: TodoList
    user_task: str
    ask: "Callable[[Question], Awaitable[Answer]]"
    emit: "Callable[[Event], None]"
    redact: "Callable[[str], str]"
    secrets: SecretValues = field(default_factory=SecretValues)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _Context:
    """What one running call may ask of its session; satisfies `types.tool.ToolContext`."""

    entry: ToolEntry
    around: Surroundings
    stopping: anyio.Event
    output: Veil

    @property
    def session_id(self) -> str:
        return self.around.session_id

    @property
    def task_id(self) -> str:
        return self.around.session_id

    @property
    def workspace(self) -> Workspace:
        return self.around.workspace()

    @property
    def todos(self) -> TodoList:
        return self.around.todos

    @property
    def interrupted(self) -> bool:
        return self.stopping.is_set()

    def secret(self, name: str) -> str:
        return secret_for(self.entry, name, self.around.environ, self.around.secrets)

    async def ask(self, question: Question) -> Answer:
        return await self.around.ask(question)

    def progress(self, text: str) -> None:
        self.output.add(text)


class Batch:
    """The calls of one reply as they run; `results` fills up in any order."""

    def __init__(self, calls: Sequence[ToolCall], around: Surroundings) -> None:
        self.calls = tuple(calls)
        self.around = around
        self.results: dict[str, ToolResult] = {}
        self._started: set[str] = set()
        self._stopping = anyio.Event()

    async def run(self) -> None:
        """Run all calls, side by side where their policies and paths allow it; cancellation leaves `results` as far as it came."""
        try:
            for group in plan(self.calls, self._cwd()):
                alone = len(self.calls) == 1
                if len(group) == 1:
                    await self._one(group[0], alone=alone)
                else:
                    await collect([partial(self._one, call, alone=alone) for call in group], limit=AT_ONCE)
        except BaseException:
            self._stopping.set()
            raise

    def ordered(self) -> Iterator[ToolResult]:
        """A result for every call, in call order; those that never ended say so."""
        for call in self.calls:
            yield self.results.get(call.id) or self._cut(call)

    async def _one(self, call: ToolCall, *, alone: bool) -> None:
        around = self.around
        entry = around.tools.tools.get(call.name)
        around.emit(ToolStarted(call=call, emoji=(entry.emoji if entry else "") or "⚡"))
        self._started.add(call.id)
        started = around.ports.monotonic()
        with listening() as heard:
            outcome = await self._outcome(call)
        result = replace(self._result(call, outcome), outside=around.redact(origin(entry, outcome.content, heard)))
        if not alone:  # a single result is appended at once, which makes it durable
            around.journal.finish(around.session_id, result)
        self.results[call.id] = result
        around.emit(ToolFinished(call_id=call.id, seconds=around.ports.monotonic() - started, failed=outcome.failed))

    async def _outcome(self, call: ToolCall) -> Outcome:
        around = self.around
        entry = around.tools.tools.get(call.name)
        if entry is None:
            return Outcome(content=unknown_tool(call.name, list(around.tools.tools)), failed=True)
        if call.fault:
            return Outcome(content=tool_error(call.fault), failed=True)
        if policy_of(call.name).effects:
            around.journal.begin(around.session_id, call.id, call.name, digest(call))
        output = Veil(around.secrets, lambda text: around.emit(ToolProgress(call_id=call.id, text=around.redact(text))))
        try:
            return await around.dispatcher.call(entry, call.arguments, self._keywords(call, entry, output))
        finally:
            output.end()

    def _cwd(self) -> str:
        """Where relative paths start; only asked where paths matter, for a workspace is not made for nothing."""
        by_path = any(policy_of(call.name).parallel == "by_path" for call in self.calls)
        return self.around.workspace().cwd if by_path and len(self.calls) > 1 else ""

    def _keywords(self, call: ToolCall, entry: ToolEntry, output: Veil) -> Mapping[str, Any]:
        around = self.around
        return {
            "task_id": around.session_id,
            "session_id": around.session_id,
            "user_task": around.user_task,
            "tool_call_id": call.id,
            "ctx": _Context(entry, around, self._stopping, output),
        }

    def _result(self, call: ToolCall, outcome: Outcome) -> ToolResult:
        ports = self.around.ports
        return ToolResult(
            id=ports.token(),
            at=ports.now(),
            call_id=call.id,
            name=call.name,
            content=self.around.redact(outcome.content),
            failed=outcome.failed,
            full=outcome.full,
        )

    def _cut(self, call: ToolCall) -> ToolResult:
        text = INTERRUPTED if call.id in self._started else NOT_STARTED
        return self._result(call, Outcome(content=tool_error(text, status="interrupted"), failed=True))


def plan(calls: Sequence[ToolCall], cwd: str) -> list[list[ToolCall]]:
    """The calls in order, grouped into runs that may go side by side."""
    groups: list[list[ToolCall]] = []
    taken: list[str] = []
    for call in calls:
        policy = policy_of(call.name)
        paths = touched(call, policy, cwd)
        if groups and _joins(policy, paths, taken, groups[-1]):
            groups[-1].append(call)
            taken += paths
        else:
            groups.append([call])
            taken = list(paths)
    return groups


def _joins(policy: ToolPolicy, paths: Sequence[str], taken: Sequence[str], group: Sequence[ToolCall]) -> bool:
    if policy.parallel == "never" or policy_of(group[-1].name).parallel == "never":
        return False
    return not any(overlap(path, other) for path in paths for other in taken)


def touched(call: ToolCall, policy: ToolPolicy, cwd: str) -> list[str]:
    """The absolute paths that a call by path names."""
    if policy.parallel != "by_path":
        return []
    named = [str(call.arguments[name]) for name in policy.paths if call.arguments.get(name)]
    if policy.patch and call.arguments.get(policy.patch):
        lines = str(call.arguments[policy.patch]).splitlines()
        named += [line.split(": ", 1)[1].strip() for line in lines if line.startswith("*** ") and ": " in line]
    return [os.path.realpath(os.path.join(cwd, os.path.expanduser(path))) for path in named]  # noqa: PTH111, PTH118  # as text


def overlap(one: str, other: str) -> bool:
    """Whether two absolute paths are equal or one lies inside the other."""
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")


def digest(call: ToolCall) -> str:
    """A short fingerprint of what a call would do."""
    return hashlib.blake2b(call.name.encode() + msgspec.json.encode(call.arguments, order="sorted"), digest_size=16).hexdigest()
