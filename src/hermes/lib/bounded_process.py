"""Run a program to its end, unless it stops working or takes more than it may."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct

_LOOKS: Final = 10  # in the time that a program may do nothing
_GRACE: Final = 5.0  # seconds to tidy up in, once told to end


class Bounds(Struct, frozen=True, kw_only=True):
    """What a program may take: `idle` seconds in which it does nothing, `seconds` in all, bytes of `memory`
    beside the files that it maps, and bytes of `output` that are kept for the caller.

    Only Linux bounds the memory, and tells whether a program does something; elsewhere each
    counts as at work.
    """

    idle: float = 30.0
    seconds: float = 600.0
    memory: int = 1 << 30
    output: int = 64 << 20


class OverBounds(Exception):  # what was met, not what went wrong
    """The bound that a program was ended for, in words that follow its name."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a program ended, and what it printed; `output` is empty where it went to a file of the caller's."""

    code: int
    output: bytes
    errors: bytes


def run_bounded(
    command: Sequence[str],
    environ: Mapping[str, str],
    bounds: Bounds,
    *,
    given: IO[bytes] | bytes = b"",
    target: IO[bytes] | None = None,
) -> Ended:
    """Run a program that reads what is `given` and prints to `target`, or for the caller.

    OverBounds when it had to be ended, OSError when it could not be started. It is told to end first, so that
    it can remove files that it has not finished.
    """
    data, source = (given, subprocess.PIPE) if isinstance(given, bytes) else (None, given)
    with nullcontext(target) if target else tempfile.TemporaryFile() as printed:
        streams: dict[str, Any] = {"stdin": source, "stdout": printed, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=dict(environ), **streams) as child:
            _bound_memory(child.pid, bounds.memory)
            try:
                errors = _awaited(child, data, bounds, printed if target is None else None)
            except BaseException:  # Ctrl-C too
                _end(child)
                raise
        output = b"" if target else _all_of(printed, bounds.output)
    return Ended(code=child.returncode, output=output, errors=errors)


def _awaited(
    child: subprocess.Popen[bytes], data: bytes | None, bounds: Bounds, kept: IO[bytes] | None
) -> bytes:
    """What the program says of its errors, once it has ended."""
    step, work = bounds.idle / _LOOKS, object()
    looks = idle = 0  # not a clock: what the whole machine slept through is nobody's idleness
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(None if looks else data, timeout=step)[1]
        looks += 1
        if kept:
            _refuse_much(kept, bounds.output)
        was, work = work, _work_of(child.pid)
        idle = idle + 1 if work == was else 0
        if idle >= _LOOKS:
            raise OverBounds(f"did nothing for {bounds.idle:g} seconds")
        if looks * step >= bounds.seconds:
            raise OverBounds(f"took more than {bounds.seconds:g} seconds")


def _work_of(pid: int) -> object:
    """What differs once a process has done something: faults, time of the processor, bytes and calls."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return fields[7:15], Path(f"/proc/{pid}/io").read_bytes()
    except OSError:
        return object()


def _bound_memory(pid: int, most: int) -> None:
    if hasattr(resource, "prlimit"):
        with suppress(OSError, ValueError):  # it has ended, or a lower bound holds already
            # not RLIMIT_AS: large files that are only mapped take no memory from others
            resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


def _all_of(file: IO[bytes], most: int) -> bytes:
    _refuse_much(file, most)
    file.seek(0)
    return file.read()


def _refuse_much(file: IO[bytes], most: int) -> None:
    if os.fstat(file.fileno()).st_size > most:
        raise OverBounds(f"printed more than {most:,} bytes")
