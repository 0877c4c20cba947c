"""One child from its start to its report: it runs in a task beside its parent's, is watched over, and always
reports.
"""

import math
from typing import TYPE_CHECKING, Final

import anyio

from hermes.agent.activity import call_in_words
from hermes.agent.delegation.brief import first_message
from hermes.agent.delegation.changed_files import FileCalls
from hermes.agent.delegation.last_words import last_words
from hermes.agent.delegation.narrowing import child_options
from hermes.agent.hook_points import child_started, child_stopped
from hermes.agent.ledger import TurnLimits
from hermes.agent.title import title_of
from hermes.agent.turn_failure import innermost
from hermes.types.delegation import ChildReport, ChildState, ChildTask
from hermes.types.error import HermesError
from hermes.types.event import (
    ChildChanged,
    Event,
    StepStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from hermes.types.usage import NO_USAGE

if TYPE_CHECKING:
    from hermes.agent.session import Session

CYCLE: Final = 30.0
"""Seconds between two looks at a child."""
IDLE: Final = 450.0
"""Seconds without a sign of a child after which it is given up."""
IN_TOOL: Final = 1200.0
"""The same while a tool of it runs."""

TIMED_OUT: Final = "Its time was over after {:.0f} s."
STALE: Final = "Nothing was heard of it for {:.0f} s, so it was given up."
PARENT_STOPPED: Final = "The turn that waited for it was stopped."
CANCELLED: Final = "It was cancelled by the user."


class ChildRun:
    """A child of `parent` that works on a task, asked for by the call `call_id`, within `limits`.

    It hears every event of its session, and hands them up. Once it has run there is a `report`. HermesError
    where the parent may have no child for this task.
    """

    def __init__(self, parent: "Session", task: ChildTask, call_id: str) -> None:
        self.task, self.call_id, self.background = task, call_id, False
        self.session: Session | None = None
        self.state: ChildState = "waiting"
        self.report: ChildReport | None = None
        self._parent, self._ports = parent, parent.services.ports
        self._options = child_options(parent, task)
        self._scope, self._ended = anyio.CancelScope(), anyio.Event()
        self._why: tuple[ChildState, str] | None = None
        self._end: TurnFinished | None = None
        self._started = self._ports.monotonic()

    async def open(self, limits: TurnLimits) -> None:
        """Open its session within these limits; what keeps it from that is its report."""
        self._limits = limits
        try:
            self.session = session = await self._parent.services.sessions.new(self._options)
        except HermesError as error:
            self._stop("failed", str(error))
            return
        session.above, session.budget.above = self._parent, limits.budget
        session.children.read_beside = self._parent.children.read_beside
        await session.rename(title_of(self.task.goal))
        session.listeners.attach(self)
        self._tell()
        await child_started(self._parent, session, self.task.goal)

    async def run(self, places: anyio.Semaphore) -> None:
        """Work once there is a place, and report, whatever happens."""
        try:
            with self._scope:
                async with places:
                    await self._parent.children.may_begin()
                    await self._work()
        except Exception as fault:  # noqa: BLE001  # a fault in a child is what it reports, and its parent goes on
            inner = innermost(fault)
            self._stop("failed", f"{type(inner).__name__}: {inner}")
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()

    def cancel(self, reason: str = CANCELLED) -> None:
        """Stop it with all children of its own; it still reports."""
        self._stop("cancelled", reason)

    async def wait(self) -> None:
        """Until it has reported."""
        await self._ended.wait()

    async def close(self) -> None:
        """Write its report, and free its session."""
        session, ended = self.session, self._ended.is_set()
        if ended:
            return
        self.report = self._reported()
        self.state = self.report.state
        self._tell()
        self._ended.set()
        self._parent.children.changed += self.report.changed
        self._parent.children.refused += self.report.refused
        if session is not None:
            self._parent.usage += session.usage
            await session.close()
            await child_stopped(self._parent, self.report)

    def put(self, event: Event) -> None:
        """Hear an event of its session, or of one below it."""
        self._parent.listeners.pass_on(event)
        if self.session is None or event.stamp.session != self.session.id:
            return
        if isinstance(event, TurnFinished):
            self._end = event
        if isinstance(event, StepStarted | ToolStarted | ToolFinished | TurnFinished):
            self._tell()

    @property
    def doing(self) -> str:
        """What it does, in a few words; empty before it begins and when it has ended."""
        if self.session is None or self.report is not None:
            return ""
        activity = self.session.activity.now
        if activity.running:
            return call_in_words(activity.running[0].call)
        return f"step {activity.step}" if activity.step else ""

    @property
    def standing(self) -> ChildChanged:
        """How it stands now."""
        session = self.session
        used = session.usage if session else NO_USAGE
        return ChildChanged(
            call_id=self.call_id,
            child=session.id if session else "",
            goal=title_of(self.task.goal),
            state=self.state,
            doing=self.doing,
            tokens=used.input_tokens + used.output_tokens,
            seconds=self._ports.monotonic() - self._started,
            background=self.background,
        )

    async def _work(self) -> None:
        if self.session is None:
            return
        self.state = "running"
        self._started = self._ports.monotonic()
        self._tell()
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_over, self.session)
            await self.session.send(first_message(self.task))
            group.cancel_scope.cancel()

    async def _watch_over(self, session: "Session") -> None:
        """Stop it when its time is over, or when nothing has been heard of it for long."""
        ports, started = self._ports, self._started
        timeout = self._parent.services.delegation.child_timeout or math.inf
        until = min(self._limits.ends, started + timeout)
        while True:
            await ports.sleep(max(0.0, min(CYCLE, until - ports.monotonic())))
            now = ports.monotonic()
            silent = now - session.activity.now.heard
            if now >= until:
                self._stop("timed_out", TIMED_OUT.format(now - started))
            elif silent >= (IN_TOOL if session.activity.now.running else IDLE):
                self._stop("stale", STALE.format(silent))

    def _stop(self, state: ChildState, reason: str) -> None:
        self._why = self._why or (state, reason)
        self._scope.cancel()

    def _reported(self) -> ChildReport:
        state, reason = self._why or self._outcome()
        session, end = self.session, self._end
        read = session.whole_log.outside if session else ()
        return ChildReport(
            session=session.id if session else "",
            goal=self.task.goal,
            state=state,
            text=last_words(session.log) if session else "",
            reason=reason,
            changed=self._changed(),
            refused=end.refused if end else (),
            usage=session.usage if session else NO_USAGE,
            seconds=self._ports.monotonic() - self._started,
            model=session.endpoint.model if session else "",
            outside=read[0].name if read else "",
        )

    def _changed(self) -> tuple[str, ...]:
        """The files that its tools wrote, and those of its children."""
        session = self.session
        if session is None:
            return ()
        own = FileCalls(session.log, session.tools.tools, str(session.spec.cwd)).changed
        return tuple(dict.fromkeys((*own, *session.children.changed)))

    def _outcome(self) -> tuple[ChildState, str]:
        """How it ended by itself."""
        end = self._end
        if end is None or end.outcome == "interrupted":
            return "cancelled", PARENT_STOPPED
        return end.outcome, end.failure.message if end.failure else ""

    def _tell(self) -> None:
        self._parent.emit(self.standing)
