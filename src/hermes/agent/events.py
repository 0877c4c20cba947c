"""Listeners of a session: every event reaches each of them, in order; text that piles up is merged, nothing is dropped."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import anyio

from hermes.types.event import Event, TextDelta, ThinkingDelta


class Listener:
    """One reader's queue. Putting never waits, so a slow or absent reader cannot hold up a turn."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._wake: anyio.Event | None = None
        self._closed = False

    def put(self, event: Event) -> None:
        """Queue an event; a text delta joins the one before it, if that has not been read yet."""
        events = self._events
        if events and isinstance(event, TextDelta | ThinkingDelta) and type(events[-1]) is type(event):
            last = events.pop()
            event = replace(event, text=last.text + event.text)  # type: ignore[union-attr]  # the same class, checked above
        events.append(event)
        self._awaken()

    def close(self) -> None:
        """No more will come: what is queued is still read, then the iteration ends."""
        self._closed = True
        self._awaken()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._events.popleft()

    def _awaken(self) -> None:
        if self._wake is not None:
            self._wake.set()
            self._wake = None


class Listeners:
    """All readers of one session."""

    def __init__(self) -> None:
        self._all: tuple[Listener, ...] = ()

    def emit(self, event: Event) -> None:
        """Hand the event to every listener."""
        for listener in self._all:
            listener.put(event)

    @contextmanager
    def watch(self) -> Iterator[Listener]:
        """A listener that hears everything from now on."""
        listener = Listener()
        self._all = (*self._all, listener)
        try:
            yield listener
        finally:
            self._all = tuple(other for other in self._all if other is not listener)
            listener.close()

    def close(self) -> None:
        """Let every listener end once it has read what is queued."""
        for listener in self._all:
            listener.close()
