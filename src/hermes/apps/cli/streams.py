"""Standard streams that may be closed, full or gone: no answer is lost to them, and no traceback comes."""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class BestEffort:
    """A text stream whose writes may be lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write if it can be."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush if it can be."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare() -> None:
    """Put /dev/null where a standard stream is closed, so that no file of ours gets its number; let what is
    said on stderr be lost where it cannot be written.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    sys.stderr = BestEffort(sys.stderr)


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """The standard output for what is written to the stream that this gives alone; whatever else is printed,
    by tools or what they start, goes to stderr meanwhile.
    """
    sys.stdout.flush()
    kept, before = os.dup(1), sys.stdout
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    answers = os.fdopen(kept, "w", encoding="utf-8", errors="replace")
    try:
        yield answers
    finally:
        sys.stdout = before
        os.dup2(answers.fileno(), 1)
        with contextlib.suppress(OSError):  # told where it was written
            answers.close()


def abandon_stdout() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, also at the end of the interpreter."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
