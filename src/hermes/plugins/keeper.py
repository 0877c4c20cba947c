"""The parent of an isolated plugin's process: it adopts whatever that one leaves behind, and ends it all.

What a process starts can leave its session and clear its environment, but not its ancestors: whoever loses
its parent gets the next one above that has asked for it, which is the keeper.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
from typing import Final

from hermes.environments.process_tree import kill

_ADOPTS: Final = 36  # PR_SET_CHILD_SUBREAPER of Linux
_PARENT_ENDS: Final = 1  # PR_SET_PDEATHSIG


def begin_kept(lifeline: int, marker: str) -> None:
    """Fork, and go on in the child only. The parent waits until the child ends or nobody holds the other end
    of the pipe `lifeline`, ends all that is below it or carries the marker, and exits with 0.
    """
    _control(_ADOPTS, 1)
    child = os.fork()
    if not child:
        os.close(lifeline)
        _control(_PARENT_ENDS, signal.SIGKILL)
        return
    os.dup2(2, 1)  # else whoever reads the child's output would never come to its end
    os.close(0)
    _wait(child, lifeline)
    kill(os.getpid(), marker)  # noqa: TID251  # those below this very process
    os._exit(0)


def _wait(child: int, lifeline: int) -> None:
    """Return once the child has ended, or nobody holds the other end of the lifeline."""
    ends, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(ends, select.POLLIN)
    poll.register(lifeline, 0)  # that it was hung up is always told
    while not _has_ended(child):
        found = dict(poll.poll())
        if lifeline in found:
            return
        os.read(ends, 4096)


def _has_ended(child: int) -> bool:
    """Whether the child has ended, once all those that have are taken note of."""
    with contextlib.suppress(ChildProcessError):  # none is left
        while ended := os.waitpid(-1, os.WNOHANG)[0]:
            if ended == child:
                return True
        return False
    return True


def _control(what: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(what, value)
