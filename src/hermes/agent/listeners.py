"""The events of a session: stamped, kept for a while, and handed to every listener in order.

Nobody waits for a listener. What piles up is coalesced: streamed text and output are joined and, where there
is too much of it, shortened in the middle; nothing else is ever dropped.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

import anyio
from msgspec.structs import replace

from hermes.types.event import Event, EventStamp, TextDelta, ThinkingDelta, ToolProgress

QUEUED = 2_000
"""Events that wait for one reader before streamed ones are coalesced wherever they stand."""
LONGEST = 256_000
"""Characters of one streamed event that waits; of more, the middle is left out."""
KEPT = 2_000
"""The last events of a session that can be read again."""

Streamed = TextDelta | ThinkingDelta | ToolProgress
E = TypeVar("E", bound=Event)


class EventQueue:
    """Events in order, with streamed text joined where it piles up; put together when it is read."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: deque[Event] = deque(events)
        self._limit = QUEUED
        self._pieces: list[str] = []  # of the last event's text, where others have joined it
        self._length = 0

    def __bool__(self) -> bool:
        return bool(self._events)

    def put(self, event: Event) -> None:
        """Add an event; streamed text joins the event before it where that is of the same stream."""
        events = self._events
        if events and _joins(events[-1], event):
            self._join(cast("Streamed", events[-1]).text, cast("Streamed", event).text)
            events[-1] = event
            return
        self._put_together()
        events.append(event)
        if len(events) > self._limit:
            self._coalesce()
            self._limit = max(QUEUED, 2 * len(self._events))  # not at every event where little can be joined

    def take(self) -> Event:
        """The first event; IndexError when there is none."""
        if len(self._events) == 1:
            self._put_together()
        return self._events.popleft()

    def _join(self, before: str, text: str) -> None:
        if not self._pieces:
            self._pieces, self._length = [before], len(before)
        self._pieces.append(text)
        self._length += len(text)
        if self._length > 2 * LONGEST:
            self._pieces = [_shortened("".join(self._pieces))]
            self._length = len(self._pieces[0])

    def _put_together(self) -> None:
        if self._pieces:
            last = cast("Streamed", self._events[-1])
            self._events[-1] = replace(last, text=_shortened("".join(self._pieces)))
            self._pieces = []

    def _coalesce(self) -> None:
        """Join what belongs to one stream across other events; it moves to where the stream is now."""
        seen: dict[tuple[type, str, str], Event] = {}
        for event in self._events:
            whose = event.stamp.session
            if isinstance(event, ToolProgress):
                key = (ToolProgress, event.call_id, whose)
                before = seen.pop(key, None)
                seen[key] = event if before is None else _joined(cast("ToolProgress", before), event)
            else:
                seen[type(event), str(event.stamp.sequence or id(event)), whose] = event
        self._events = deque(seen.values())


class EventSink(Protocol):
    """Something that is told of events at once; it must not wait."""

    def put(self, event: Event) -> None:
        """Hear an event."""


class Listener:
    """One reader's queue. Putting never waits, so a slow or absent reader cannot hold up a turn."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._queue = EventQueue(events)
        self._wake: anyio.Event | None = None
        self._closed = False

    def put(self, event: Event) -> None:
        """Queue an event."""
        self._queue.put(event)
        if self._wake is not None:
            self._wake.set()
            self._wake = None

    def close(self) -> None:
        """No more will come: what is queued is still read, then the iteration ends."""
        self._closed = True
        if self._wake is not None:
            self._wake.set()
            self._wake = None

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._queue.take()

    def text(self) -> "ReplyText":
        """The words of the model as they come, from here on; a reply that is begun anew (`ReplyRestarted`)
        comes from its beginning.
        """
        return ReplyText(self)


class ReplyText:
    """The streamed words among a listener's events; no generator, so that one may leave it anywhere."""

    def __init__(self, events: Listener) -> None:
        self._events = events

    def __aiter__(self) -> "ReplyText":
        return self

    async def __anext__(self) -> str:
        while True:
            if isinstance(event := await anext(self._events), TextDelta):
                return event.text


class Listeners:
    """All readers of one session, and its last events.

    `now` gives epoch seconds; `session` and `parent` are ids, for the stamps.
    """

    def __init__(self, now: Callable[[], float], *, session: str, parent: str = "") -> None:
        self._now, self._session, self._parent = now, session, parent
        self._all: tuple[Listener, ...] = ()
        self._sinks: tuple[EventSink, ...] = ()
        self._kept: deque[Event] = deque(maxlen=KEPT)  # each as it was, whatever is joined for a slow reader
        self._sequence = 0
        self._closed = False
        self.turn = 0

    def emit(self, event: E) -> E:
        """Stamp the event and hand it to every listener; the stamped one."""
        self._sequence += 1
        stamp = EventStamp(self._session, self.turn, self._sequence, self._now(), self._parent)
        stamped = replace(event, stamp=stamp)
        self._kept.append(stamped)
        for listener in self._all:
            listener.put(stamped)
        for sink in self._sinks:
            sink.put(stamped)
        return stamped

    def attach(self, sink: EventSink) -> None:
        """Tell a sink of every event from now on, those of children included."""
        self._sinks = (*self._sinks, sink)

    def pass_on(self, event: Event) -> None:
        """Hand an event of a child, stamped by it, to whoever hears children too."""
        for sink in self._sinks:
            sink.put(event)

    @contextmanager
    def watch_family(self) -> Iterator[Listener]:
        """A listener that hears everything from now on, also of children and theirs: `stamp` tells whose it
        is.
        """
        listener = Listener()
        if self._closed:
            listener.close()
        self.attach(listener)
        try:
            yield listener
        finally:
            self._sinks = tuple(one for one in self._sinks if one is not listener)
            listener.close()

    def since(self, sequence: int) -> tuple[Event, ...]:
        """The kept events with a higher number, in order."""
        return tuple(event for event in self._kept if event.stamp.sequence > sequence)

    @contextmanager
    def watch(self, since: int | None = None) -> Iterator[Listener]:
        """A listener that hears everything from now on, or first what came after number `since`.

        Where all listeners were closed it ends after that.
        """
        listener = Listener(() if since is None else self.since(since))
        if self._closed:
            listener.close()
        self._all = (*self._all, listener)
        try:
            yield listener
        finally:
            self._all = tuple(other for other in self._all if other is not listener)
            listener.close()

    def close(self) -> None:
        """Let every listener end once it has read what is queued, those that come later too."""
        self._closed = True
        for listener in (*self._all, *(one for one in self._sinks if isinstance(one, Listener))):
            listener.close()


def _joins(last: Event, event: Event) -> bool:
    if type(last) is not type(event) or last.stamp.session != event.stamp.session:
        return False
    if isinstance(event, ToolProgress):
        return isinstance(last, ToolProgress) and last.call_id == event.call_id
    return isinstance(event, (TextDelta, ThinkingDelta))


def _joined(last: ToolProgress, event: ToolProgress) -> ToolProgress:
    return replace(event, text=_shortened(last.text + event.text))


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    left_out = len(text) - LONGEST
    return f"{text[: LONGEST // 2]}\n… {left_out:,} characters left out …\n{text[-LONGEST // 2 :]}"
