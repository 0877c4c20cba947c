"""Conversations: the messages on their way into sessions, one turn after the other in each.

Screens, chats, editors and servers put messages in from their side; what to do with one that comes while a
turn runs, what a stopped turn hands back and when an idle session is closed are the same for all of them.
"""

import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

import anyio
import anyio.lowlevel

from hermes.agent.session import Session
from hermes.lib.lazy import import_object
from hermes.types.actor import Actor, actor_of
from hermes.types.error import HermesError
from hermes.types.event import TurnFinished
from hermes.types.message import Attachment, ToolResult

Files = Callable[[str], Awaitable[Sequence[Attachment]]]
Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class ConversationView(Protocol):
    """What an app shows of its side of a conversation."""

    def sent(self, text: str) -> None:
        """A message starts a turn now."""

    def returned(self, text: str, by: Actor | None) -> None:
        """Messages of one actor that no model has seen come back to whoever wrote them."""

    def refused(self, sentence: str) -> None:
        """A turn could not begin."""


class Conversation:
    """The inbox of one session. At most one turn runs; `spawn` starts its task.

    `steered` rides on the running turn, `queued` waits for its end. `files` gives what goes with a message
    when its turn begins.
    """

    def __init__(
        self,
        spawn: Spawn,
        view: ConversationView,
        session: Session | None = None,
        files: Files | None = None,
    ) -> None:
        self._spawn, self._view, self._files = spawn, view, files
        self.session = session
        self.queued: list[tuple[str, Actor | None]] = []
        self._steered: dict[str, tuple[str, Actor | None]] = {}
        self._running = False
        self._judging: anyio.CancelScope | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to, whoever began it."""
        return self._running or (self.session is not None and self.session.busy)

    @property
    def judging(self) -> bool:
        """Whether the end of a turn is being judged, by which the next one may follow."""
        return self._judging is not None

    @property
    def steered(self) -> tuple[str, ...]:
        """The notes that wait for the next tool result."""
        return tuple(text for text, _ in self._steered.values())

    @property
    def waiting(self) -> tuple[str, ...]:
        """The messages that wait for the end of the turn."""
        return tuple(text for text, _ in self.queued)

    def attach(self, session: Session | None) -> None:
        """Work on another session from now on; what waits goes to it."""
        self.session = session
        self.proceed()

    def typing(self) -> None:
        """Somebody is writing a message: what answers it is made ready meanwhile."""
        session = self.session
        if session is not None and not session.busy and not session.closed:
            session.services.routes.warm(session)

    def send(self, text: str, *, by: Actor | None = None) -> None:
        """Start a turn; while one runs the message joins it, and while no session is open it waits."""
        session = self.session
        if session is not None and session.busy:
            note_id = session.services.ports.token()
            if session.steer(text, by=by, note_id=note_id):
                self._steered[note_id] = (text, by)
                return
        self.queue(text, by=by)

    def queue(self, text: str, *, by: Actor | None = None) -> None:
        """Send after the running turn, or now when none runs."""
        self.queued.append((text, by))
        self.proceed()

    def continue_turn(self) -> None:
        """Go on with the turn that was cut off, if there is one and none runs."""
        session = self.session
        if session is not None and session.is_cut and not self.busy:
            self._running = True
            self._spawn(self._continued)

    def stop(self, reason: str = "") -> bool:
        """Stop the running turn, and the goal that is being judged; whether there was a turn."""
        if self.session is not None:
            self.session.interrupt(reason)
        if self._judging is not None:
            self._judging.cancel()
        return self.busy

    def take_waiting(self) -> str:
        """All messages that wait here, as one text with an empty line between them; they wait no more."""
        if self.session is not None:
            self.session.mailbox.withdraw(self._steered)
        waiting = [*self.steered, *self.waiting]
        self._steered, self.queued = {}, []
        return "\n\n".join(waiting)

    def arrived(self, result: ToolResult) -> list[str]:
        """The notes of this conversation that ride on a tool's result: the model sees them now."""
        seen = [self._steered.pop(block.id) for block in result.blocks if block.id in self._steered]
        return [text for text, _ in seen]

    def finished(self, end: TurnFinished) -> None:
        """Go on once a turn's end was shown: a stopped one hands messages back, else they are sent.

        Notes that came from elsewhere are among them: nobody else may be there to send them again.
        """
        self._running = False
        unsent = [self._steered.get(one.id, (one.text, actor_of(one.source))) for one in end.unsent]
        self._steered = {}
        if end.outcome in {"interrupted", "failed"}:
            self.queued[:0] = unsent
            self._return_waiting()
        else:
            self.queued[:0] = _joined(unsent)
            self.proceed()
        goal = self.session.goal if self.session is not None else None
        if goal is not None and goal.state == "active" and not self.busy:
            self._spawn(lambda: self._pursue(end))

    async def _pursue(self, end: TurnFinished) -> None:
        """Have the goal judged, and send the message of its next turn unless somebody was faster."""
        session = self.session
        if session is None or self._judging is not None:
            return
        self._judging = anyio.CancelScope()
        try:
            text = await import_object("hermes.agent.goals:after_turn")(session, end, self._judging)
            await anyio.lowlevel.checkpoint()  # listeners hear the verdict first
            if text and not self.busy and session is self.session:
                self.queue(text)
        except HermesError as error:
            self._view.refused(str(error))
        finally:
            self._judging = None

    def proceed(self) -> None:
        """Send what waits, unless a turn or the summing up of older messages holds the session."""
        if self.queued and not self.busy and self.session is not None:
            text, by = self.queued.pop(0)
            self._running = True
            self._view.sent(text)
            self._spawn(lambda: self._turn(text, by))

    async def _turn(self, text: str, by: Actor | None) -> None:
        if self.session is None:
            self._running = False
            return
        try:
            files = await self._files(text) if self._files is not None else ()
            await self.session.send(text, attachments=files, by=by)
        except HermesError as error:
            self._running = False
            self.queued.insert(0, (text, by))
            self._view.refused(str(error))
            self._return_waiting()

    async def _continued(self) -> None:
        try:
            if self.session is not None:
                await self.session.continue_turn()
        except HermesError as error:
            self._running = False
            self._view.refused(str(error))

    def _return_waiting(self) -> None:
        """Hand back all that waits, to each actor what is theirs."""
        waiting, self.queued = _joined(self.queued), []
        for text, by in waiting:
            self._view.returned(text, by)


def _joined(messages: Sequence[tuple[str, Actor | None]]) -> list[tuple[str, Actor | None]]:
    """The messages, with those of one actor that follow each other as one."""
    groups = itertools.groupby(messages, key=lambda one: one[1])
    return [("\n".join(text for text, _ in group), by) for by, group in groups]


class Conversations:
    """The conversations of an app that has many, by key; `opening` gives a new one for a key.

    One that was idle for `idle_seconds` is closed, and opened again by the next message to it.
    """

    def __init__(
        self,
        opening: Callable[[str], Awaitable[Conversation]],
        monotonic: Callable[[], float],
        *,
        idle_seconds: float,
    ) -> None:
        self._opening, self._monotonic, self._idle_seconds = opening, monotonic, idle_seconds
        self._open: dict[str, Conversation] = {}
        self._used: dict[str, float] = {}
        self._locks: dict[str, anyio.Lock] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._open

    async def get(self, key: str) -> Conversation:
        """The conversation of a key; HermesError when it cannot be opened."""
        async with self._locks.setdefault(key, anyio.Lock()):
            if key not in self._open:
                self._open[key] = await self._opening(key)
        self._used[key] = self._monotonic()
        return self._open[key]

    async def close_idle(self) -> list[str]:
        """Close what nobody has used for long and in which nothing runs or waits; their keys."""
        before = self._monotonic() - self._idle_seconds
        idle = [
            key
            for key, one in self._open.items()
            if self._used[key] <= before and not (one.busy or one.queued or one.judging)
        ]
        for key in idle:
            session = self._open.pop(key).session
            del self._used[key], self._locks[key]
            if session is not None:
                await session.close()
        return idle
