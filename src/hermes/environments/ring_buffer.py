"""Read many descriptors in one thread, each into a bounded text that rolls."""

import codecs
import os
import select
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import strip_escapes

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT_CHARS: Final = 200_000
_CHUNK: Final = 65_536


class Rolling:
    """The last 200 000 characters of a stream, escapes stripped; written by one thread, read by any.

    Secrets that are known are hidden before any part of it is shown, so that no part begins in the middle of
    one.
    """

    def __init__(self, known: SecretValues | None = None) -> None:
        self._known = known or SecretValues()
        self._lock = threading.Lock()  # invariant: `_text` and `total` are of the same moment
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self.total = 0
        self.complete = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes; none means that the stream has ended."""
        fresh = strip_escapes(self._decode(data, final=not data))
        with self._lock:
            self.total += len(fresh)
            self._text = (self._text + fresh)[-KEPT_CHARS:]
            self.complete = not data

    def text(self) -> str:
        """What is kept."""
        with self._lock:
            kept = self._text
        return self._known.redact(kept)


class Reader:
    """A thread that reads descriptors as they fill; it starts with the first of them and ends with `stop`."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[int, Rolling | None, threading.Event]] = SimpleQueue()
        self._wake: tuple[int, int] | None = None
        self._join: Callable[[], None] | None = None

    def follow(self, descriptor: int, into: Rolling) -> None:
        """Read a non-blocking descriptor until it ends or is left."""
        if self._wake is None:
            self._wake = os.pipe()
            # A thread of its own, not one of the loop's: it outlives the call that starts it, and must not
            # keep the program from ending.
            thread = threading.Thread(  # noqa: TID251
                target=self._run, args=(self._wake[0],), name="background-output", daemon=True
            )
            thread.start()
            self._join = thread.join
        self._order(descriptor, into)

    def leave(self, descriptor: int) -> None:
        """Stop reading a descriptor; once this returns it may be closed."""
        self._order(descriptor, None)

    def stop(self) -> None:
        """End the thread."""
        if self._join is None or self._wake is None:
            return
        self._order(-1, None)
        self._join()
        for end in self._wake:
            os.close(end)
        self._join = self._wake = None

    def _order(self, descriptor: int, into: Rolling | None) -> None:
        if self._wake is None:
            return
        done = threading.Event()
        self._orders.put((descriptor, into, done))
        os.write(self._wake[1], b"!")
        done.wait()

    def _run(self, wake: int) -> None:
        poller = select.poll()
        poller.register(wake, select.POLLIN)
        followed: dict[int, Rolling] = {}
        while True:
            for descriptor, _ in poller.poll():
                if descriptor in followed:
                    if not _read(descriptor, followed[descriptor]):
                        poller.unregister(descriptor)
                        del followed[descriptor]
                elif descriptor == wake and not self._obey(wake, poller, followed):
                    return

    def _obey(self, wake: int, poller: "select.poll", followed: dict[int, Rolling]) -> bool:
        """Carry out the orders; False when the last one said to end."""
        os.read(wake, _CHUNK)
        with suppress(Empty):
            while True:
                descriptor, into, done = self._orders.get_nowait()
                if into is not None:
                    followed[descriptor] = into
                    poller.register(descriptor, select.POLLIN)
                elif followed.pop(descriptor, None) is not None:
                    poller.unregister(descriptor)
                done.set()
                if descriptor < 0:
                    return False
        return True


def _read(descriptor: int, into: Rolling) -> bool:
    """Move what is there; False at the end."""
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return True
    except OSError:  # a terminal whose other end is gone
        data = b""
    into.feed(data)
    return bool(data)
