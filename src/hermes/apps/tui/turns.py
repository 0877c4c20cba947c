"""Turns one after the other: what is sent, what steers, what waits, and who may stop it."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from hermes.types.error import HermesError
from hermes.types.event import TurnFinished
from hermes.types.message import ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session

Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


class Turns:
    """The messages on their way into one session. `spawn` starts a task; the callbacks tell the screen."""

    def __init__(
        self,
        spawn: Spawn,
        *,
        echo: Callable[[str], None],
        give_back: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._spawn, self._echo, self._give_back, self._warn = spawn, echo, give_back, warn
        self.session: Session | None = None
        self.steered: list[str] = []
        self.queued: list[str] = []
        self.context: list[str] = []
        self._running = False

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self._running

    def attach(self, session: "Session | None") -> None:
        """Work on another session from now on; what waits goes to it."""
        self.session = session
        self._next()

    def send(self, text: str) -> None:
        """Start a turn; while one runs the message joins it, and while no session is open it waits."""
        if self.session is None:
            self.queued.append(text)
        elif not self._running:
            self._start(text)
        elif self.session.steer(text):
            self.steered.append(text)
        else:
            self.queued.append(text)

    def queue(self, text: str) -> None:
        """Send after the running turn, or now when none runs."""
        self.queued.append(text)
        self._next()

    def stop(self) -> bool:
        """Stop the running turn; whether there was one."""
        if self.session is not None and self._running:
            self.session.interrupt()
        return self._running

    def take_waiting(self) -> str:
        """All messages that wait, as one text; they wait no more."""
        if self.session is not None:
            self.session.take_unsent()
        waiting = [*self.steered, *self.queued]
        self.steered, self.queued = [], []
        return "\n".join(waiting)

    def arrived(self, result: ToolResult) -> list[str]:
        """The steering messages that ride on a tool's result: the model sees them now."""
        seen = [text for text in self.steered if text in result.note]
        self.steered = [text for text in self.steered if text not in seen]
        return seen

    def _next(self) -> None:
        if self.queued and not self._running and self.session is not None:
            self._start(self.queued.pop(0))

    def _start(self, text: str) -> None:
        self._running = True
        self._echo(text)
        self._spawn(lambda: self._run(text))

    async def _run(self, text: str) -> None:
        session = self.session
        if session is None:
            return
        told, self.context = "\n\n".join([*self.context, text]), []
        try:
            await session.send(told)
        except HermesError as error:
            self._running = False
            self._warn(str(error))
            self._give_back(text)

    def finished(self, session: "Session", end: TurnFinished) -> None:
        """Go on once a turn's end was shown: a stopped one hands the waiting messages back, else they are sent."""
        self._running = False
        if end.outcome in {"interrupted", "failed"}:
            waiting = self.take_waiting()
            if waiting:
                self._give_back(waiting)
            return
        late = session.take_unsent()
        self.steered = []
        if late:
            self._start("\n".join(late))
        else:
            self._next()
