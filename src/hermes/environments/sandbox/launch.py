"""Start a confined job, and start it again where its sandbox could not be set up: files and sockets come and
go while it is built.
"""

import fcntl
import os
import struct
import termios
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

import anyio
from msgspec import Struct

from hermes.types.error import ExecError

_PAUSES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


class StartSignal:
    """A pipe with one byte in it, which is taken out inside when the sandbox is complete and the command
    begins.

    Only so can a command that failed be told from a sandbox that could not be set up: both may end with 1.
    """

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        os.write(writer, b"x")
        os.close(writer)
        self.close = weakref.finalize(self, os.close, self.reader)
        self._begun = False

    def begun(self) -> bool:
        """Whether the command has begun; once closed, what was known then."""
        if not self._begun and self.close.alive:
            left = fcntl.ioctl(self.reader, termios.FIONREAD, struct.pack("i", 0))
            self._begun = struct.unpack("i", left) == (0,)
        return self._begun


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
        if error is not None:
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
