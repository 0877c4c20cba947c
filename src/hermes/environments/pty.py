"""A terminal for one job: its two ends, and the argv that makes it the job's controlling terminal."""

import fcntl
import os
import struct
import termios

_ROWS, _COLUMNS = 40, 120


def open_terminal() -> tuple[int, int]:
    """Descriptors (ours, theirs) of a new terminal of 40 by 120 characters."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return ours, theirs


def on_terminal(argv: tuple[str, ...], theirs: int) -> tuple[str, ...]:
    """`argv` behind a shell that takes the terminal over.

    A session leader without a terminal that opens one gets it as its controlling terminal: no code has to run
    between fork and exec.
    """
    return (
        "/bin/sh",
        "-c",
        'name=$1; shift; exec "$@" <>"$name" >&0 2>&1',
        "sh",
        os.ttyname(theirs),
        *argv,
    )
