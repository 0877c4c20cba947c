"""What tools and libraries print while the screen has the terminal: it is read, and shown as lines."""

import codecs
import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple, TextIO

from hermes.lib.text import strip_escapes
from hermes.lib.threads import submit
from hermes.present.spans import Line, Span, cut

_STANDARD: Final = (1, 2)
_MOST: Final = 50
"""Lines that are kept until they are shown; of more only the number is."""
_LONGEST: Final = 2_000
_DRAINED: Final = 0.2


class Prints:
    """The lines, as a thread reads them: whoever writes must never wait for the event loop, where it may be
    itself. `wake` is called in that thread whenever there is more.
    """

    def __init__(self, terminal: Mapping[int, int], sink: int) -> None:
        self._terminal, self._sink = terminal, sink
        self._lock = threading.Lock()  # invariant: a line is kept once, or counted
        self._lines: deque[str] = deque()
        self._hidden = 0
        self._open = ""
        self.over = threading.Event()
        self.wake: Callable[[], object] = lambda: None

    def read(self, source: int) -> None:
        """Take in what comes, to its end."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError):
            while data := os.read(source, 65_536):
                self._take_in(decoder.decode(data))
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self.wake()
        os.close(source)
        self.over.set()

    @property
    def waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._lines or self._open.strip())

    def take(self) -> tuple[list[str], int]:
        """The lines since the last time, also one that has no end yet, and how many there were besides."""
        with self._lock:
            rows, hidden = [*self._lines, *([self._open] if self._open.strip() else [])], self._hidden
            self._lines.clear()
            self._hidden, self._open = 0, ""
        return rows, hidden

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal is somebody else's, such as an editor's."""
        for number, place in self._terminal.items():
            os.dup2(place, number)
        try:
            yield
        finally:
            for number in self._terminal:
                os.dup2(self._sink, number)

    def _take_in(self, text: str) -> None:
        with self._lock:
            *whole, self._open = (self._open + text).split("\n")
            for row in whole:
                if len(self._lines) < _MOST:
                    self._lines.append(_shown(row))
                else:
                    self._hidden += 1
            self._open = _shown(self._open)


class Terminal(NamedTuple):
    """Where the screen writes, and what is written there by others."""

    out: TextIO
    prints: Prints


@contextmanager
def kept_terminal() -> Iterator[Terminal]:
    """The terminal for the screen alone, and what else is written to standard output and error meanwhile, as
    far as these are terminals.
    """
    flush_standard()
    terminal = {number: os.dup(number) for number in _STANDARD if os.isatty(number)}
    source, sink = os.pipe()
    prints = Prints(terminal, sink)
    out = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    for number in terminal:
        os.dup2(sink, number)
    submit(partial(prints.read, source))
    try:
        yield Terminal(out, prints)
    finally:
        flush_standard()
        for number, place in terminal.items():
            os.dup2(place, number)
            os.close(place)
        os.close(sink)
        prints.over.wait(_DRAINED)  # a program that was left running may hold it open
        with contextlib.suppress(OSError):
            out.close()
        _write_rest(prints)


def printed_lines(rows: list[str], hidden: int, by: str, width: int) -> list[Line]:
    """What was printed, dim, with the tool that alone may have done it."""
    told = [*rows, *([f"… {hidden} more lines"] if hidden else [])]
    head = f"      {by} │ " if by else "      │ "
    return [cut((Span(head, "dim"), Span(row, "dim")), width) for row in told]


def _shown(row: str) -> str:
    """A row without escapes and without what a carriage return wrote over."""
    return strip_escapes(row.rstrip("\r").rpartition("\r")[2]).expandtabs(4)[-_LONGEST:]


def flush_standard() -> None:
    """Let go what is held back of standard output and error."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _write_rest(prints: Prints) -> None:
    rows, hidden = prints.take()
    for row in (*rows, *([f"… {hidden} more lines"] if hidden else [])):
        sys.stderr.write(f"{row}\n")
