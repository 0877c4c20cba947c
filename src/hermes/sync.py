"""Layer 10. The same library for callers without a loop."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing, contextmanager
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from hermes.agent.listeners import Listener
from hermes.agent.session import Session
from hermes.api import open_session
from hermes.types.event import Event, TextDelta, TurnFinished
from hermes.types.message import Attachment, Message
from hermes.types.question import Answer
from hermes.types.usage import Usage

__all__ = ["SyncSession", "open"]

P = ParamSpec("P")
T = TypeVar("T")


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

    def send(
        self,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        output_schema: Mapping[str, Any] | None = None,
    ) -> TurnFinished:
        """Run one turn and give its end; with `output_schema` the answer is to be JSON that fits it."""
        send = partial(self._session.send, attachments=attachments, output_schema=output_schema)
        return self._portal.call(send, text)

    def ask(self, text: str, output_type: type[T], *, attachments: Sequence[Attachment] = ()) -> T:
        """The answer as a value of this type; OutputInvalid when none comes that is one."""
        return self._portal.call(partial(self._session.ask, text, output_type, attachments=attachments))

    @property
    def is_cut(self) -> bool:
        """Whether the last turn was cut off, so that it can go on."""
        return self._session.is_cut

    def continue_turn(self) -> TurnFinished:
        """Go on with the turn that was cut off, and give its end."""
        return self._portal.call(self._session.continue_turn)

    def stream(self, text: str, *, attachments: Sequence[Attachment] = ()) -> Generator[Event]:
        """Run one turn; its events as they come. Leaving the loop early interrupts the turn."""
        streaming = self._session.stream(text, attachments=attachments)
        managed = self._portal.wrap_async_context_manager(streaming)
        events = aiter(managed.__enter__())
        self._streams.append(managed)
        try:
            while (event := self._portal.call(anext, events, None)) is not None:
                yield event
        finally:
            self._end(managed)

    def stream_text(self, text: str, *, attachments: Sequence[Attachment] = ()) -> Iterator[str]:
        """Run one turn; the model's words as they come. Leaving the loop early interrupts the turn."""
        with closing(self.stream(text, attachments=attachments)) as events:
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
        """Answer an open question; TypeError for an answer of another kind than it wants."""
        return self._session.answer(question_id, answer)


def _synchronous(
    opening: Callable[P, AbstractAsyncContextManager[Session]],
) -> Callable[P, AbstractContextManager[SyncSession]]:
    """The same call for plain code."""

    @contextmanager
    @wraps(opening)
    def opened(*args: P.args, **options: P.kwargs) -> Iterator[SyncSession]:
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(opening(*args, **options)) as session,
        ):
            plain = SyncSession(session, portal)
            try:
                yield plain
            finally:
                plain.end_streams()

    return opened


# hermes.sync.open(...), like hermes.open(...)
open = _synchronous(open_session)  # noqa: A001
"""A session, closed at the end of the `with`; keywords as for `hermes.open`."""
