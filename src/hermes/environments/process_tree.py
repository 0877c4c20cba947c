"""Find, end and await the processes that one call has started, also those that left its group."""

import os
import signal
import subprocess
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import anyio

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    import psutil

MARKER = "HERMES_CALL"
"""The environment variable that every process of a call inherits; its value names the call."""

_STEP = 0.02
_LAST = 5.0  # how long the kernel may take to end what was killed


def _library() -> ModuleType:
    """The process library: only calls that must be stopped need it."""
    library: ModuleType = import_object("psutil")
    return library


def members(leader: int, marker: str) -> "list[psutil.Process]":
    """The live processes of a call: the leader's session, its descendants, and whoever carries its marker;
    zombies left out.
    """
    psutil = _library()
    family = {leader}
    found = []
    for process in sorted(psutil.process_iter(), key=lambda item: item.pid):
        try:
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:  # noqa: TID251  # this very process
                continue
            if _belongs(process, leader, family, marker):
                family.add(process.pid)
                found.append(process)
        except (psutil.Error, ProcessLookupError):
            continue  # it ended while we looked
    return found


def _belongs(process: "psutil.Process", leader: int, family: set[int], marker: str) -> bool:
    if process.pid == leader or process.ppid() in family or os.getsid(process.pid) == leader:
        return True
    try:
        return bool(process.environ().get(MARKER) == marker)
    except _library().AccessDenied:
        return False


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
    send(members(leader, marker), signal.SIGTERM)
    deadline = anyio.current_time() + grace
    while anyio.current_time() < deadline:
        if poll() is not None and not members(leader, marker):
            return
        await anyio.sleep(_STEP)
    deadline = anyio.current_time() + _LAST
    while ((left := members(leader, marker)) or poll() is None) and anyio.current_time() < deadline:
        send(left, signal.SIGKILL)
        await anyio.sleep(_STEP)


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
