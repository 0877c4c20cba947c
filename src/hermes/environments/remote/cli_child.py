"""A child at the end of a program on this machine that carries its streams: docker, ssh, apptainer."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Final

import anyio

from hermes.environments.local_child import LocalChild
from hermes.environments.process_tree import end_of
from hermes.environments.pty import on_terminal, open_terminal
from hermes.environments.remote.payload import ENDED, read_records
from hermes.environments.remote.transport import End
from hermes.types.error import ExecError

_CHUNK: Final = 65_536
_MOST_ASIDE: Final = 4_000_000
_LINGER: Final = 0.3  # how long a client may stay after the job's end, for what children of it still write
_MOST_LATE: Final = 4_000_000  # bytes of output after the job's end: more than a connection holds on its way
_STEP: Final = 0.005
_LATE: Final = 0.5  # how long a job may take to begin after its client is gone


class ClientChild(LocalChild):
    """The client program as the job: implements `RemoteChild`.

    It is over once its records say so, even if children keep the streams.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], output: int, input_: int | None, aside: int | None, end: End
    ) -> None:
        super().__init__(process, output, input_, marker="")
        self._aside = aside
        self._records = bytearray()
        self._end = end
        self._arrived = 0  # bytes of output
        if aside is not None:
            os.set_blocking(aside, False)

    @property
    def pid(self) -> int:
        """The id of the job's outermost process where it runs; until that is known, the client's."""
        return read_records(self.aside()).pid or super().pid

    def aside(self) -> bytes:
        """What has come beside the output so far."""
        while self._aside is not None:
            try:
                data = os.read(self._aside, _CHUNK)
            except BlockingIOError:
                break
            if not data:
                self._close_aside()
            elif len(self._records) < _MOST_ASIDE:
                self._records += data
        return bytes(self._records)

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""
        data = super().read()
        self._arrived += len(data or b"")
        return data

    def poll(self) -> int | None:
        """The job's exit code as its records tell it, the client's when they do not."""
        code = super().poll()
        told = ENDED.search(self.aside())
        return int(told[1]) if told else code

    async def ended(self) -> None:
        """Return once the client has ended, or a moment after the records told the end of the job."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._told)
            await end_of(self._process)
            tasks.cancel_scope.cancel()

    async def settled(self) -> None:
        """Return once the stream beside the output has ended, at most a moment after the client's end."""
        with anyio.move_on_after(_LINGER):
            while True:
                self.aside()
                if self._aside is None and self._process.poll() is not None:
                    return
                await anyio.sleep(_STEP)

    async def stop(self, grace: float) -> None:
        """End the job where it runs, then the client. A job that has not begun yet may still do so: it is
        looked for once more.
        """
        if self.poll() is None and read_records(self.aside()).pid:
            await self._end(grace)
        elif self.poll() is None:
            self._process.kill()
            await end_of(self._process)
            await self._end(grace)
            await anyio.sleep(_LATE)
            await self._end(grace)
        if self._process.poll() is None:
            self._process.terminate()
            with anyio.move_on_after(grace):
                await end_of(self._process)
        if self._process.poll() is None:
            self._process.kill()
            await end_of(self._process)

    def release(self) -> None:
        """Close the descriptors, and end a client that is held up by children of a job that is over."""
        super().release()
        self._close_aside()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    async def _told(self) -> None:
        """Read the records until they tell the end; then the client has a moment left after each arrival.

        They may be here long before the output over a slow connection. What children of the job write on and
        on is cut off.
        """
        while ENDED.search(self.aside()) is None:
            if self._aside is None:
                return
            await anyio.wait_readable(self._aside)
        limit, seen = self._arrived + _MOST_LATE, -1
        while seen < self._arrived < limit:
            seen = self._arrived
            await anyio.sleep(_LINGER)
        self._process.send_signal(signal.SIGKILL)

    def _close_aside(self) -> None:
        if self._aside is not None:
            os.close(self._aside)
        self._aside = None


class TerminalChild(ClientChild):
    """A client on a terminal.

    What is typed before it has begun would meet a terminal that is not set up yet, so it waits.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], output: int, input_: int | None, aside: int | None, end: End
    ) -> None:
        super().__init__(process, output, input_, aside, end)
        self._begun = anyio.Event()

    def read(self) -> bytes | None:
        """The bytes at hand; the first of them tell that the job has begun."""
        data = super().read()
        if data is not None:
            self._begun.set()
        return data

    async def takes_input(self) -> None:
        """Return once the job has begun and takes more input."""
        await self._begun.wait()
        await super().takes_input()


def start_client(
    argv: tuple[str, ...], env: Mapping[str, str], *, stdin: bytes | None, end: End
) -> ClientChild:
    """Start a client with pipes; `stdin` is all of its input, None leaves it open."""
    read, write = os.pipe()
    aside_read, aside_write = os.pipe()
    try:
        with tempfile.TemporaryFile() as source:  # a file cannot fill up as a pipe does
            source.write(stdin or b"")
            source.seek(0)
            given = subprocess.PIPE if stdin is None else source.fileno()
            process = _started(argv, env, (given, write, aside_write))
    except ExecError:
        os.close(read)
        os.close(aside_read)
        raise
    finally:
        os.close(write)
        os.close(aside_write)
    input_ = None
    if process.stdin is not None:
        input_ = os.dup(process.stdin.fileno())
        process.stdin.close()
    return ClientChild(process, read, input_, aside_read, end)


def start_client_on_terminal(argv: tuple[str, ...], env: Mapping[str, str], *, end: End) -> ClientChild:
    """Start a client on a terminal of its own, which it hands on."""
    ours, theirs = open_terminal()
    try:
        process = _started(on_terminal(argv, theirs), env, (theirs, theirs, theirs))
    except ExecError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return TerminalChild(process, ours, ours, None, end)


def _started(
    argv: tuple[str, ...], env: Mapping[str, str], streams: tuple[int, int, int]
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    try:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd="/",
            env=dict(env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ExecError(f"{argv[0]} could not be started: {error}") from error
