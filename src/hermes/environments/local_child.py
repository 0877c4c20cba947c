"""A job that runs on this machine, as it is read, typed to and ended."""

import os
import subprocess
from contextlib import suppress
from typing import Final

import anyio

from hermes.environments import process_tree
from hermes.environments.sandbox.launch import StartSignal

_CHUNK: Final = 65_536
_END_OF_INPUT: Final = b"\x04"  # what a terminal takes for the end of input


class OutputPipe:
    """The end of a pipe that a job writes to: implements `Stream`."""

    def __init__(self, output: int) -> None:
        self.output = output
        os.set_blocking(output, False)

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""
        try:
            return os.read(self.output, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:  # a terminal whose other end is gone
            return b""

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.output)


class LocalChild(OutputPipe):
    """A process on this machine: implements `Child`. Its errors come by `errors` where they come apart from
    its output.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        input_: int | None,
        marker: str,
        signal: StartSignal | None = None,
        errors: OutputPipe | None = None,
    ) -> None:
        super().__init__(output)
        self._process = process
        self._signal = signal
        self._marker = marker
        self._input = input_
        self.errors = errors
        if input_ is not None:
            os.set_blocking(input_, False)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def begun(self) -> bool:
        """Whether the command itself has begun, and not only the sandbox around it."""
        return self._signal is None or self._signal.begun()

    def poll(self) -> int | None:
        """The exit code as a shell gives it (128 + number after a signal), or None while it runs."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    async def ended(self) -> None:
        """Return once the process has ended."""
        await process_tree.end_of(self._process)

    async def takes_input(self) -> None:
        """Return once its input takes more, or is closed."""
        if self._input is not None:
            await anyio.wait_writable(self._input)

    def write(self, data: bytes) -> int:
        """How many bytes its input took; 0 when the pipe is full, BrokenPipeError when its input is
        closed.
        """
        if self._input is None:
            raise BrokenPipeError("the input of this process is closed")
        try:
            return os.write(self._input, data)
        except BlockingIOError:
            return 0

    def close_input(self) -> None:
        """End its input: a pipe is closed, a terminal gets the end-of-input character."""
        if self._input is None:
            return
        if self._input == self.output:
            with suppress(OSError):
                os.write(self._input, _END_OF_INPUT)
        else:
            os.close(self._input)
        self._input = None

    async def stop(self, grace: float) -> None:
        """End its whole tree: TERM, up to `grace` seconds, then KILL."""
        await process_tree.end(self.pid, self._marker, self.poll, grace)

    def release(self) -> None:
        """Close the descriptors."""
        if self._input is not None and self._input != self.output:
            os.close(self._input)
        self._input = None
        self.close()
        if self.errors is not None:
            self.errors.close()
        if self._signal is not None:
            self._signal.close()
