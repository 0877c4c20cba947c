"""A batch of tool calls: order, journal, run.

Results come back in call order, whatever order they finish in.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.lowlevel
import anyio.to_thread
from msgspec.structs import replace

from hermes.agent.call_order import CallTurn, in_order, running
from hermes.agent.guardrails import signature
from hermes.agent.outside import count, settle
from hermes.agent.provenance import is_unbegun, listening, named_outside, origin
from hermes.agent.questions import calling
from hermes.agent.recovery import cut
from hermes.agent.tool_context import ToolRunContext
from hermes.lib.aio import collect, has_kind
from hermes.lib.text_stream import TextStream
from hermes.safety.sources import news_of
from hermes.tools.dispatch import ToolOutput, unknown_tool
from hermes.tools.registry import tool_error
from hermes.types.error import StoreError
from hermes.types.event import ToolFinished, ToolProgress, ToolStarted
from hermes.types.message import ToolCall, ToolResult
from hermes.types.tool import UNDECLARED, ToolEntry, ToolManifest

if TYPE_CHECKING:
    from hermes.agent.session import Session

SIDE_BY_SIDE = 8
AT_ONCE = 4_000
"""Longer results are looked through beside the event loop."""
INTERRUPTED = "The call was interrupted by the user before it ended; what it had done until then stands."
TIME_OVER = "The call was stopped as the time for this turn was over; what it had done until then stands."
NOT_IN_TIME = "This call was not run: the time for this turn was over."
STORE_FAILED = (
    "A fault of the session's store ended this call; its outcome is unknown. Look at what it may have done."
)
NOT_RUN = "The call was not run: a fault of the session's store ended the turn first."
FAULT = "A fault of Hermes ended this call; its outcome is unknown. Look at what it may have done."
NOT_RUN_BY_FAULT = "The call was not run: a fault of Hermes ended the turn first."
NOT_STARTED = "The call was not run: the user stopped the turn first."


class CallBatch:
    """The calls of one reply as they run; `results` fills up in any order. What is `answered` is not run.

    Those that a script makes have its call as `parent`: their results stand in no log, but in the journal.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall],
        session: "Session",
        user_task: str,
        answered: Mapping[str, ToolResult] = MappingProxyType({}),
        *,
        parent: str = "",
    ) -> None:
        self.calls = tuple(calls)
        self.results = dict(answered)
        self._session, self._services = session, session.services
        self.user_task, self._parent = user_task, parent
        self._started: set[str] = set()
        self._left: dict[str, tuple[Mapping[str, Any], Sequence[str]]] = {}
        self._stopping = anyio.Event()
        self._cut_by: Literal["user", "time", "store", "fault"] = "user"

    async def run(self) -> None:
        """Run all calls, each as soon as those before it allow it; cancellation leaves `results` as far as it
        came.
        """
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
            wanted = [call for call in self.calls if call.id not in self.results]
            alone = len(self.calls) == 1 and not self._parent
            if len(wanted) == 1:
                await self._one(wanted[0], alone=alone)
            else:
                await self._in_order(wanted)
        except BaseException as error:
            self._stopping.set()
            if has_kind(error, StoreError):
                self._cut_by = "store"
            elif not has_kind(error, anyio.get_cancelled_exc_class()):
                self._cut_by = "fault"
            elif self._services.ports.monotonic() >= self._session.limits.ends:
                self._cut_by = "time"
            raise

    def ordered(self) -> Iterator[ToolResult]:
        """A result for every call, in call order; those that never ended say so."""
        for call in self.calls:
            yield self.results.get(call.id) or self._cut(call)

    async def _in_order(self, calls: Sequence[ToolCall]) -> None:
        slots = anyio.Semaphore(SIDE_BY_SIDE)

        async def run(place: CallTurn) -> None:
            await place.come()
            async with slots:
                await anyio.lowlevel.checkpoint_if_cancelled()
                with running(place):
                    await self._one(place.call, alone=False)
            place.end()  # not where a fault has ended it: then nothing follows

        places = in_order(calls, self.manifest, self._cwd())
        await collect([partial(run, place) for place in places], limit=len(places))

    async def _one(self, call: ToolCall, *, alone: bool) -> None:
        session, services = self._session, self._services
        entry = session.tools.tools.get(call.name)
        emoji = (entry.emoji if entry else "") or "⚡"
        session.emit(ToolStarted(call=call, emoji=emoji, parent=self._parent))
        self._started.add(call.id)
        started = services.ports.monotonic()
        at_once, diff = partial(self._reads, call), ""
        command = "" if self._parent else str(call.arguments.get("command", ""))
        with listening(at_once, command) as heard, calling(call.id) as timed:
            if call.fault:
                output = ToolOutput(content=tool_error(call.fault), failed=True, run=False)
            elif entry is None:
                output = ToolOutput(content=unknown_tool(call.name, list(session.tools.tools)), failed=True)
            else:
                if entry.manifest.effects:
                    await services.store.begin(session.id, call.id, call.name, signature(call))
                if name := named_outside(entry):
                    await at_once(name)
                with self._context(call, entry, heard) as context:
                    keywords = self._keywords(call, context)
                    output = await services.dispatcher.call(
                        entry, call.arguments, keywords, session.authorize, partial(self._keep, call, heard)
                    )
                diff = services.redactor.redact(context.diff)
        seconds = max(0.0, services.ports.monotonic() - started - timed.waited)
        result = await self._keep(call, heard, output)
        if not alone:  # a single result is appended at once, which makes it durable
            await services.store.finish(session.id, result)
        diff = diff or await self._changed_by(call)
        end = ToolFinished(call_id=call.id, seconds=seconds, failed=output.failed, result=result, diff=diff)
        session.emit(end)

    async def _changed_by(self, call: ToolCall) -> str:
        """What the commands of a call have changed, for people."""
        opened, redactor = self._session.opened, self._services.redactor
        files = opened.turn_files if opened is not None else None
        if files is None:
            return ""
        return redactor.redact(await files.changed_by(call.id, redactor.redact_file))

    async def _keep(self, call: ToolCall, heard: Sequence[str], output: ToolOutput) -> ToolResult:
        """Note the result; not to be cut short, for the call has run."""
        with anyio.CancelScope(shield=True):
            if len(output.content) < AT_ONCE:
                result = self._examined(call, output, heard)
            else:
                result = await anyio.to_thread.run_sync(self._examined, call, output, heard)
            self.results[call.id] = result
            await settle(self._session, result, heard)
        return result

    async def _reads(self, call: ToolCall, name: str) -> str:
        """A call is about to read this from outside: it counts from now on, also where the call is cut off,
        or its process killed. The name without secrets.
        """
        name = self._services.redactor.redact(name)
        provisional = cut(call, self._services.ports, outside=name)
        await self._session.home.run(partial(count, self._session, provisional))
        return name

    def _examined(self, call: ToolCall, output: ToolOutput, heard: Sequence[str]) -> ToolResult:
        """The result without secrets, and where it came from; long results take milliseconds."""
        entry = self._session.tools.tools.get(call.name) if output.run else None
        command = str(call.arguments.get("command", ""))
        named = heard if output.run else ()  # a call that never ran has read nothing
        outside = self._services.redactor.redact(origin(entry, output.content, named, command))
        result = self._result(call, output)
        before = (*self._session.whole_log.messages, *self.results.values())
        return replace(result, outside=news_of(outside, result.content, before))

    @contextmanager
    def _context(self, call: ToolCall, entry: ToolEntry, heard: Sequence[str]) -> Iterator[ToolRunContext]:
        """What the call may ask of the session while it runs; what it shows is without secrets, what it
        leaves is kept.
        """
        session, redact = self._session, self._services.redactor.redact
        shown = TextStream(
            self._services.secrets,
            lambda text: session.emit(ToolProgress(call_id=call.id, text=redact(text))),
        )
        context = ToolRunContext(entry, call.id, session, self._stopping, shown)
        try:
            yield context
        finally:
            self._left[call.id] = context.left, heard
            if is_unbegun():
                self._started.discard(call.id)
            context.end()
            shown.end()

    def manifest(self, call: ToolCall) -> ToolManifest:
        """What the tool of a call declares."""
        entry = self._session.tools.tools.get(call.name)
        return entry.manifest if entry else UNDECLARED

    def _cwd(self) -> str:
        """Where relative paths start; only asked where paths matter: an environment is not made for
        nothing.
        """
        by_path = any(self.manifest(call).parallel == "by_path" for call in self.calls)
        return self._session.workspace.cwd if by_path and len(self.calls) > 1 else ""

    def _keywords(self, call: ToolCall, context: ToolRunContext) -> Mapping[str, Any]:
        return {
            "task_id": self._session.id,
            "session_id": self._session.id,
            "user_task": self.user_task,
            "tool_call_id": call.id,
            "ctx": context,
        }

    def _result(self, call: ToolCall, output: ToolOutput) -> ToolResult:
        ports = self._services.ports
        return ToolResult(
            id=ports.token(),
            at=ports.now(),
            call_id=call.id,
            name=call.name,
            content=self._services.redactor.redact(output.content),
            failed=output.failed,
            full=output.full,
        )

    def _cut(self, call: ToolCall) -> ToolResult:
        began = call.id in self._started
        match self._cut_by:
            case "user":
                text, status = (INTERRUPTED, "interrupted") if began else (NOT_STARTED, "not_run")
            case "time":
                text, status = (TIME_OVER, "interrupted") if began else (NOT_IN_TIME, "not_run")
            case "store":
                text, status = (STORE_FAILED, "outcome_unknown") if began else (NOT_RUN, "not_run")
            case "fault":
                text, status = (FAULT, "outcome_unknown") if began else (NOT_RUN_BY_FAULT, "not_run")
        left, heard = self._left.get(call.id, ({}, ()))
        output = ToolOutput(content=tool_error(text, status=status, **left), failed=True)
        if call.id in self._left:  # the tool itself has begun
            return self._examined(call, output, heard)
        return self._result(call, output)
