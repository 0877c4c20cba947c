"""Find, end and await the processes that one call has started, also those that left its group."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    import psutil

MARKER = "HERMES_CALL"
"""The environment variable that every process of a call inherits; its value names the call."""

_PROC: Final = Path("/proc")
_STEP = 0.02
_FRESH = _STEP / 2
_LAST = 5.0  # how long the kernel may take to end what was killed


def _library() -> ModuleType:
    """The process library: only calls that must be stopped need it."""
    library: ModuleType = import_object("psutil")
    return library


class LiveProcess(Struct, frozen=True):
    """A process as one look found it: its parent, the leader of its session, and whose marker it carries."""

    process: "psutil.Process"
    parent: int
    session: int
    marker: str | None


class ProcessTable:
    """The live processes of this machine; calls that are ended together share one look at them."""

    def __init__(self) -> None:
        self._rows: tuple[LiveProcess, ...] = ()
        self._fresh_until = -math.inf

    def rows(self) -> tuple[LiveProcess, ...]:
        """All but this one, by their ids; zombies left out."""
        if time.monotonic() > self._fresh_until:  # noqa: TID251  # the age of a look is no session's time
            self._rows = tuple(_looked())
            self._fresh_until = time.monotonic() + _FRESH  # noqa: TID251  # the same
        return self._rows

    def rows_with(self, pid: int) -> tuple[LiveProcess, ...]:
        """The same, looked at anew where that one is not among them, which may have begun since."""
        if all(one.process.pid != pid for one in self.rows()):
            self._fresh_until = -math.inf
        return self.rows()


_TABLE: Final = ProcessTable()


def _looked() -> Iterator[LiveProcess]:
    psutil = _library()
    for process in sorted(psutil.process_iter(), key=lambda item: item.pid):
        with suppress(psutil.Error, ProcessLookupError), process.oneshot():  # it may end while we look
            pid = process.pid
            if pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:  # noqa: TID251  # this very process
                yield LiveProcess(process, process.ppid(), os.getsid(pid), _marker_of(process))


def _marker_of(process: "psutil.Process") -> str | None:
    try:
        marker: str | None = process.environ().get(MARKER)
    except _library().AccessDenied:
        return None
    return marker


def markers() -> frozenset[str]:
    """The marks that live processes of ours carry."""
    if not _PROC.is_dir():
        return frozenset(one.marker for one in _TABLE.rows() if one.marker)
    return frozenset(filter(None, map(_marker_in, _PROC.glob("[0-9]*/environ"))))


def _marker_in(environ: Path) -> str:
    try:
        found = f"\0{environ.read_text(errors='replace')}".partition(f"\0{MARKER}=")[2]
    except OSError:  # another's, or it has ended
        return ""
    return found.partition("\0")[0]


def members(rows: Sequence[LiveProcess], leader: int, marker: str) -> "list[psutil.Process]":
    """Those of a call: the leader's session, its descendants, and whoever carries its marker."""
    family = {leader}
    found = []
    for one in rows:
        pid = one.process.pid
        if pid == leader or one.parent in family or one.session == leader or one.marker == marker:
            family.add(pid)
            found.append(one.process)
    return found


def is_below_a_call() -> bool:
    """Whether a process above this one belongs to a call, as far as it lets us look."""
    psutil = _library()
    try:
        above = psutil.Process().parents()
    except psutil.Error:
        return False
    return any(map(_is_marked, above))


def _is_marked(process: "psutil.Process") -> bool:
    try:
        return MARKER in process.environ()
    except (_library().Error, OSError):
        return False


def send(processes: "list[psutil.Process]", number: signal.Signals) -> None:
    """Send a signal to each; those that have ended or may not be touched are passed over."""
    for process in processes:
        try:
            process.send_signal(number)
        except (_library().Error, ProcessLookupError):
            continue


async def end(leader: int, marker: str, poll: Callable[[], int | None], grace: float) -> None:
    """Stop a call's whole tree: TERM, up to `grace` seconds, then KILL until nothing of it is left (at most
    five seconds more).
    """
    send(members(_TABLE.rows_with(leader), leader, marker), signal.SIGTERM)
    deadline = anyio.current_time() + grace
    while anyio.current_time() < deadline:
        if poll() is not None and not members(_TABLE.rows(), leader, marker):
            return
        await anyio.sleep(_STEP)
    deadline = anyio.current_time() + _LAST
    while (left := members(_TABLE.rows(), leader, marker)) or poll() is None:
        if anyio.current_time() >= deadline:
            return
        send(left, signal.SIGKILL)
        await anyio.sleep(_STEP)


def kill(leader: int | None, marker: str) -> None:
    """End a whole tree at once, in a thread; without a `leader`, whose id may be another's by now, those that
    carry the marker.
    """
    leader = -1 if leader is None else leader
    deadline = time.monotonic() + _LAST  # noqa: TID251  # how long the kernel may take is no session's time
    while (left := members(_TABLE.rows_with(leader), leader, marker)) and time.monotonic() < deadline:  # noqa: TID251
        send(left, signal.SIGKILL)
        time.sleep(_STEP)  # noqa: TID251  # as above


async def end_of(process: subprocess.Popen[bytes]) -> None:
    """Return once a child process of ours has ended."""
    if not hasattr(os, "pidfd_open"):  # not Linux
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
        return
    if process.poll() is not None:
        return
    descriptor = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
