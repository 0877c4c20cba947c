"""Start a confined job, and start it again where its sandbox could not be set up: files and sockets come and
go while it is built.
"""

import fcntl
import os
import struct
import termios
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

import anyio
from msgspec import Struct

from hermes.types.error import ExecError

_PAUSES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


class Confinement(Struct, frozen=True, kw_only=True):
    """What the sandbox of one job is like.

    `network` is all of it or these hosts, `writable` opens the workspace in the mode read-only, `paths` these
    in any; `protected` makes what agents take as instructions read-only; the folders `covered` may not be
    entered; `pty` leaves it the terminal that it has.
    """

    network: bool | tuple[str, ...] = False
    writable: bool = False
    paths: tuple[str, ...] = ()
    protected: bool = False
    covered: tuple[str, ...] = ()
    pty: bool = False


class StartSignal:
    """How a waiting sandbox is told its command, and tells that it is complete and that the command begins.

    The words lie in a file of memory, which is read once a byte is in the pipe. That byte is taken out inside
    when the command begins: only so can a command that failed be told from a sandbox that could not be set
    up, as both may end with 1.
    """

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        self.complete, self.notice = os.pipe()
        self.words = os.memfd_create("hermes")
        self._open = {self.reader, self._writer, self.complete, self.notice, self.words}
        self.close = weakref.finalize(self, _close_all, self._open)
        self._begun = False

    def give(self, words: bytes = b"") -> None:
        """Let the command begin, with these words."""
        os.write(self.words, words)
        os.lseek(self.words, 0, os.SEEK_SET)
        os.write(self._writer, b"x")
        self._drop(self._writer)

    def handed(self) -> None:
        """Close what the sandbox alone writes, so that its end is noticed."""
        self._drop(self.notice)

    def begun(self) -> bool:
        """Whether the command has begun; once closed, what was known then."""
        if not self._begun and self.close.alive and self._writer not in self._open:
            left = fcntl.ioctl(self.reader, termios.FIONREAD, struct.pack("i", 0))
            self._begun = struct.unpack("i", left) == (0,)
        return self._begun

    def _drop(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


class Launch(Struct, frozen=True):
    """How to start a confined job: `argv` from the top folder with these descriptors open. Close it then, and
    `signal` when the job has ended.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]
    signal: StartSignal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        if error is None:
            self.signal.handed()
        else:
            self.signal.close()


class SetupRetries:
    """The tries to set one job's sandbox up; `covered` gives the paths that its mounts lie on, and what is
    there.

    After the first one `steady` has those alone that were the same before and after a pause. What comes and
    goes meanwhile is as if it had been made a moment after the command began, and nothing covers that either.
    """

    def __init__(self, covered: Callable[[], Mapping[str, tuple[int, ...]]]) -> None:
        self._covered = covered
        self._pauses = iter(_PAUSES)
        self.steady: frozenset[str] | None = None

    async def again(self, reason: str) -> None:
        """Wait for the next try; ExecError when there were enough of them."""
        pause = next(self._pauses, None)
        if pause is None:
            raise ExecError(
                f"The sandbox could not be set up in {len(_PAUSES) + 1} tries, so the command was not run:"
                f" {reason.strip() or 'it gave no reason'}. See hermes sandbox status."
            )
        before = self._covered()
        await anyio.sleep(pause)
        after = self._covered()
        self.steady = frozenset(path for path, found in before.items() if after.get(path) == found)


def given_signal(opened: ExitStack) -> tuple[StartSignal, list[int]]:
    """A signal, and the descriptors that its sandbox is given first; `opened` closes both."""
    signal = StartSignal()
    opened.callback(signal.close)
    return signal, [duplicate(signal.reader, opened)]


def duplicate(descriptor: int, opened: ExitStack) -> int:
    """A second descriptor of the same, which `opened` closes."""
    copy = os.dup(descriptor)
    opened.callback(os.close, copy)
    return copy


def in_memory(data: bytes, opened: ExitStack) -> int:
    """A descriptor to read `data` from, which `opened` closes."""
    descriptor = os.memfd_create("hermes")
    opened.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _close_all(descriptors: set[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
