"""Layer 10. The same library for callers without a loop."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Unpack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from hermes.agent.listeners import Listener
from hermes.agent.session import Session
from hermes.api import OpenOptions, open_session
from hermes.types.event import Event, TextDelta, TurnFinished
from hermes.types.message import Message
from hermes.types.question import Answer
from hermes.types.usage import Usage


class SyncSession:
    """A session for plain code.

    `steer`, `interrupt` and `answer` may be called from any other thread meanwhile.
    """

    def __init__(self, session: Session, portal: BlockingPortal) -> None:
        self._session, self._portal = session, portal
        self._streams: list[AbstractContextManager[Listener]] = []

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def log(self) -> tuple[Message, ...]:
        """The messages so far."""
        return self._session.log

    @property
    def usage(self) -> Usage:
        """What the session has used so far."""
        return self._session.usage

    def send(self, text: str) -> TurnFinished:
        """Run one turn and give its end."""
        return self._portal.call(self._session.send, text)

    @property
    def is_cut(self) -> bool:
        """Whether the last turn was cut off, so that it can go on."""
        return self._session.is_cut

    def continue_turn(self) -> TurnFinished:
        """Go on with the turn that was cut off, and give its end."""
        return self._portal.call(self._session.continue_turn)

    def stream(self, text: str) -> Generator[Event]:
        """Run one turn; its events as they come. Leaving the loop early interrupts the turn."""
        managed = self._portal.wrap_async_context_manager(self._session.stream(text))
        events = aiter(managed.__enter__())
        self._streams.append(managed)
        try:
            while (event := self._portal.call(anext, events, None)) is not None:
                yield event
        finally:
            self._end(managed)

    def stream_text(self, text: str) -> Iterator[str]:
        """Run one turn; the model's words as they come. Leaving the loop early interrupts the turn."""
        with closing(self.stream(text)) as events:
            yield from (event.text for event in events if isinstance(event, TextDelta))

    def end_streams(self) -> None:
        """End the streams that are still held: their turns are interrupted."""
        for managed in [*self._streams]:
            self._end(managed)

    def _end(self, managed: AbstractContextManager[Listener]) -> None:
        if managed in self._streams:
            self._streams.remove(managed)
            managed.__exit__(
                None, None, None
            )  # a GeneratorExit must not travel into the loop, it would end it

    def steer(self, text: str) -> bool:
        """Let a note ride on the next tool result."""
        return self._session.steer(text)

    def interrupt(self, reason: str = "") -> None:
        """Stop the running turn; its last words tell the reason."""
        self._session.interrupt(reason)

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer an open question."""
        return self._session.answer(question_id, answer)


@contextmanager
# hermes.sync.open(...), like hermes.open(...)
def open(**options: Unpack[OpenOptions]) -> Iterator[SyncSession]:  # noqa: A001
    """A session, closed at the end of the `with`; keywords as for `hermes.open`."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_session(**options)) as session,
    ):
        opened = SyncSession(session, portal)
        try:
            yield opened
        finally:
            opened.end_streams()
