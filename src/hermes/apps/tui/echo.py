"""What is typed at a terminal without being shown."""

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unechoed() -> Iterator[None]:
    """Show nothing of what is typed meanwhile, where standard input is a terminal."""
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        print()
