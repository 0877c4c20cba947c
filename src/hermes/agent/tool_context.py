"""What a running call may ask of its session, from whichever thread or loop its handler runs on."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
from msgspec import Struct, field

from hermes.agent.memory import SessionMemory
from hermes.agent.past_sessions import SessionArchive
from hermes.agent.provenance import tell
from hermes.agent.recall import SessionRecall
from hermes.agent.skills import SessionSkills
from hermes.lib.aio import HomeObject
from hermes.lib.lazy import import_object
from hermes.lib.text_stream import TextStream
from hermes.models.side_calls import SideQuestion
from hermes.safety.sources import sources
from hermes.tools.needs import secret_for
from hermes.types.delegation import ChildReport, ChildTask
from hermes.types.error import HermesError, SecretUnavailable
from hermes.types.message import Assistant, Message, ToolCall, ToolResult
from hermes.types.question import Answer, Question
from hermes.types.script import ScriptResult
from hermes.types.tool import PastSessions, ProviderTools, TodoList, ToolEntry
from hermes.types.workspace import Processes, Workspace

if TYPE_CHECKING:
    from hermes.agent.session import Session

T = TypeVar("T")


class ToolRunContext(Struct, eq=False):
    """The session as one running call sees it; satisfies `types.tool.ToolContext`.

    `left` is what its result holds where it is cut, `diff` what people are shown beside it. Once the call has
    ended, a handler that was left behind shows nothing any more, and what it asks or does fails.
    """

    entry: ToolEntry
    call_id: str
    session: "Session"
    stopping: anyio.Event
    output: TextStream
    left: dict[str, Any] = field(default_factory=dict)
    diff: str = ""
    _over: bool = False
    _asking: set[anyio.CancelScope] = field(default_factory=set)

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.session.id

    @property
    def task_id(self) -> str:
        """The session's id: a task of its own has a session of its own."""
        return self.session.id

    @property
    def turn_id(self) -> str:
        """The name of the running turn."""
        return self.session.turn_id

    async def command_output(self, command: str, output: str, code: int | None) -> str:
        """What a command has printed, in the words that hooks give it."""
        hooks = self.session.services.dispatcher.hooks
        if "transform_terminal_output" not in hooks:
            return output
        told = {"command": command, "output": output, "returncode": code, "task_id": self.session.id}
        sandbox = self.session.environment.gate.policy.sandbox
        return await hooks.replaced(
            "transform_terminal_output", **told, env_type="remote" if sandbox == "container" else "local"
        )

    @property
    def workspace(self) -> Workspace:
        """The machine the tools work on."""
        return self._on_home(lambda: self.session.workspace, _AwayWorkspace)

    @property
    def todos(self) -> TodoList:
        """The session's plan."""
        return self._on_home(lambda: self.session.todos, HomeObject)

    def entries(self, first: int, last: int) -> Sequence[Message]:
        """Messages of the log by their numbers, from 1; what came from outside makes this call's result
        so.
        """
        self._check_running()
        found = self.session.log[max(0, first - 1) : last]
        for one in found:
            for source in sources((one,)):
                tell(source.name)
        return found

    @property
    def memory(self) -> SessionMemory:
        """What later sessions are told."""
        self._check_running()
        return SessionMemory(self.session.services.memory, self.session)

    @property
    def past(self) -> PastSessions:
        """What was said in other sessions."""
        return self._on_home(lambda: SessionArchive(self.session), HomeObject)

    @property
    def deferred_tools(self) -> Sequence[Mapping[str, Any]]:
        """The definitions of tools that the model is not shown."""
        return self.session.tools.deferred

    @property
    def provider_tools(self) -> ProviderTools:
        """The tools of the memory provider."""
        return self._on_home(lambda: SessionRecall(self.session.services.recall, self.session), HomeObject)

    @property
    def skills(self) -> SessionSkills:
        """The procedures that are kept as files."""
        self._check_running()
        return SessionSkills(self.session)

    @property
    def deps(self) -> Any:
        """What the session was opened with for its tools."""
        return self.session.spec.deps

    @property
    def interrupted(self) -> bool:
        """Whether the turn is being stopped."""
        return self.stopping.is_set()

    def has_handled(self, path: str) -> bool:
        """Whether an earlier call of the session that worked was about a file of this name."""
        name, calls = PurePosixPath(path).name, dict[str, ToolCall]()
        for message in self.session.log:
            if isinstance(message, Assistant):
                calls |= {call.id: call for call in message.calls}
            elif isinstance(message, ToolResult) and not message.failed:
                call = calls.get(message.call_id)
                if call is not None and any(name in str(value) for value in call.arguments.values()):
                    return True
        return False

    def secret(self, name: str) -> str:
        """The value of a variable that the tool names in `requires_env`."""
        services = self.session.services
        if not self.session.spec.capabilities.knows(name):
            raise SecretUnavailable(f"{name} is not among the secrets that this session may have.")
        return secret_for(self.entry, name, services.environ, services.secrets)

    async def ask(self, question: Question) -> Answer:
        """The answer of a person, from whichever loop this is."""
        return await self.session.home.run(partial(self._ask, question))

    def ask_blocking(self, question: Question) -> Answer:
        """The answer of a person, for a thread without a loop."""
        return self.session.home.run_blocking(partial(self._ask, question))

    async def ask_model(self, instructions: str, text: str) -> str | None:
        """What a model of side tasks answers, from whichever loop this is."""
        self._check_running()
        question = SideQuestion(instructions=instructions, text=text)
        return await self.session.home.run(partial(self.session.ask_aside, "mcp", question))

    async def delegate(self, tasks: Sequence[ChildTask]) -> Sequence[ChildReport]:
        """Have children do the tasks, and give their reports in order; what they read from outside makes this
        call's result so.
        """
        self._check_running()
        return await self.session.home.run(partial(self._delegate, tasks))

    async def delegate_later(self, tasks: Sequence[ChildTask]) -> Sequence[str]:
        """Start children that go on after this turn, where it has a later one; the ids of their sessions."""
        self._check_running()
        if self.session.spec.parent or not self.session.spec.attended:
            return ()
        return await self.session.home.run(partial(self._delegate_later, tasks))

    async def run_script(self, code: str) -> ScriptResult:
        """Run Python that may call the session's tools, where its commands run."""
        self._check_running()
        return await self.session.home.run(partial(self._run_script, code))

    def progress(self, text: str) -> None:
        """Show output of the running call, from any thread; nothing once it has ended."""
        if not self._over:
            self.session.home.call(self._show, text)

    def redact(self, path: str, text: str) -> str:
        """The text of a file without credentials, as people are shown it."""
        return self.session.services.redactor.redact_file(path, text)

    def changed(self, diff: str) -> None:
        """Keep the unified diff of what the call changed, for people; the model does not get it."""
        self.diff = diff

    def end(self) -> None:
        """Take note on the home loop that the call has ended: its open questions are withdrawn."""
        self._over = True
        for scope in self._asking:
            scope.cancel()

    async def _delegate(self, tasks: Sequence[ChildTask]) -> Sequence[ChildReport]:
        children = self.session.children
        runs = children.take(tasks, self.call_id)
        try:
            await children.finish(runs)
        finally:
            reports = [one.report for one in runs if one.report is not None]
            self.left["results"] = [one.as_result(number) for number, one in enumerate(reports)]
            for one in reports:
                tell(one.outside)
        return reports

    async def _run_script(self, code: str) -> ScriptResult:
        run = import_object("hermes.agent.code_execution.script_run:ScriptRun")(self)
        result: ScriptResult = await run.run(code)
        return result

    async def _delegate_later(self, tasks: Sequence[ChildTask]) -> Sequence[str]:
        runs = self.session.children.take(tasks, self.call_id)
        await self.session.children.start(runs)
        return [one.session.id if one.session else "" for one in runs]

    def _show(self, text: str) -> None:
        if not self._over:
            self.output.add(text)

    async def _ask(self, question: Question) -> Answer:
        self._check_running()
        with anyio.CancelScope() as scope:
            self._asking.add(scope)
            try:
                return await self.session.questions.ask(question)
            finally:
                self._asking.discard(scope)
        raise self._ended()

    def _on_home(self, find: Callable[[], T], away: type[HomeObject]) -> T:
        """What lives on the home loop: itself there, elsewhere with its methods run there."""

        def found() -> T:
            self._check_running()
            return find()

        return found() if self.session.home.is_here else cast("T", away(self.session.home, found))

    def _check_running(self) -> None:
        if self._over:
            raise self._ended()

    def _ended(self) -> HermesError:
        return HermesError(f"The call of {self.entry.name} has ended; it can ask and do nothing any more.")


class _AwayWorkspace(HomeObject):
    """The workspace for threads and loops other than its own."""

    @property
    def processes(self) -> Processes:
        """The background processes."""
        return cast("Processes", HomeObject(self._home, lambda: cast("Workspace", self._find()).processes))
