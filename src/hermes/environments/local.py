"""Run jobs on this machine, within the kernel sandbox when a job asks for it."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from hermes.environments import tree
from hermes.environments.base import Finished, Job, Limits
from hermes.environments.capture import Capture
from hermes.environments.follow import follow
from hermes.environments.pty import on_terminal, open_terminal
from hermes.environments.sandbox import CLEAN, Launch, Sandbox
from hermes.lib.secretvalues import SecretValues
from hermes.types.error import EnvironmentUnavailable, ExecError

TIMED_OUT: Final = 124
_CHUNK: Final = 65_536
_END_OF_INPUT: Final = b"\x04"  # what a terminal takes for the end of input


class LocalChild:
    """A process on this machine: implements `Child`."""

    def __init__(self, process: subprocess.Popen[bytes], output: int, input_: int | None, marker: str) -> None:
        self._process = process
        self._marker = marker
        self._input = input_
        self.output = output
        os.set_blocking(output, False)
        if input_ is not None:
            os.set_blocking(input_, False)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code as a shell gives it (128 + number after a signal), or None while it runs."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    async def ended(self) -> None:
        """Return once the process has ended."""
        await end_of(self._process)

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""
        try:
            return os.read(self.output, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:  # a terminal whose other end is gone
            return b""

    async def takes_input(self) -> None:
        """Return once its input takes more, or is closed."""
        if self._input is not None:
            await anyio.wait_writable(self._input)

    def write(self, data: bytes) -> int:
        """How many bytes its input took; 0 when the pipe is full, BrokenPipeError when its input is closed."""
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
        await tree.end(self.pid, self._marker, self.poll, grace)

    def release(self) -> None:
        """Close the descriptors."""
        if self._input is not None and self._input != self.output:
            os.close(self._input)
        self._input = None
        os.close(self.output)


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


class LocalEnvironment:
    """This machine: implements `Environment`. Uncut outputs go to the folder `outputs`, without the secrets that are known.

    `note` is a sentence that ends the first output.
    """

    name = "local"

    def __init__(
        self, *, outputs: Path, limits: Limits, sandbox: Sandbox | None = None, known: SecretValues | None = None, note: str = ""
    ) -> None:
        self._notes = [f"[sandbox: {note}]\n"] if note else []
        self._outputs = outputs
        self._known = known
        self._limits = limits
        self._sandbox = sandbox
        self._calls = itertools.count(1)

    async def start(self) -> None:
        """Make the folder for outputs."""
        self._outputs.mkdir(parents=True, exist_ok=True)

    async def stop(self) -> None:
        """Stop what serves confined jobs."""
        if self._sandbox:
            self._sandbox.close()

    async def exec(
        self, job: Job, *, timeout: float, stdin: bytes | None = None, on_output: Callable[[str], None] | None = None
    ) -> Finished:
        """Run a job to its end or for `timeout` seconds; its tree is killed on timeout and on cancellation."""
        begun = anyio.current_time()
        call = next(self._calls)
        capture = Capture(self._limits, self._outputs / f"output-{os.getpid()}-{call}.txt", on_output, self._known)
        child = self._foreground(job, call, stdin)
        try:
            timed_out = await follow(child, capture, timeout, stdin if job.pty else None)
        finally:
            child.release()
        kept = capture.finish()
        code = TIMED_OUT if timed_out else child.poll()
        return Finished(
            text=kept.text + self._noted(),
            code=TIMED_OUT if code is None else code,
            seconds=anyio.current_time() - begun,
            timed_out=timed_out,
            clipped=kept.clipped,
            full=kept.full,
        )

    async def spawn(self, job: Job) -> LocalChild:
        """Start a job and give it back running, its input open."""
        call = next(self._calls)
        if job.pty:
            return self._on_terminal(job, call)
        read, write = os.pipe()
        try:
            return self._launch(job, call, ends=(read, write), stdin=subprocess.PIPE)
        finally:
            os.close(write)

    def _noted(self) -> str:
        """The note, once, and what the way out to named hosts has refused: most programs show no more of it than a number."""
        refused = self._sandbox.take_refused() if self._sandbox else []
        notes, self._notes = self._notes, []
        return "".join([*notes, *(f"[network: {sentence}]\n" for sentence in refused)])

    def _foreground(self, job: Job, call: int, stdin: bytes | None) -> LocalChild:
        if job.pty:
            return self._on_terminal(job, call)
        read, write = os.pipe()
        try:
            if stdin is None:
                return self._launch(job, call, ends=(read, write), stdin=subprocess.DEVNULL)
            with tempfile.TemporaryFile() as source:  # a file cannot fill up as a pipe does
                source.write(stdin)
                source.seek(0)
                return self._launch(job, call, ends=(read, write), stdin=source.fileno())
        finally:
            os.close(write)

    def _on_terminal(self, job: Job, call: int) -> LocalChild:
        ours, theirs = open_terminal()
        try:
            return self._launch(job, call, ends=(ours, theirs), stdin=theirs)
        finally:
            os.close(theirs)

    def _launch(self, job: Job, call: int, *, ends: tuple[int, int], stdin: int) -> LocalChild:
        marker = f"{os.getpid()}-{id(self):x}-{call}"
        try:
            env = {**(job.env or {}), tree.MARKER: marker}
            with self._launched(job, env) as launch:
                process = subprocess.Popen(
                    on_terminal(launch.argv, ends[1]) if job.pty else launch.argv,
                    stdin=stdin,
                    stdout=ends[1],
                    stderr=ends[1],
                    cwd="/",
                    env={**CLEAN, tree.MARKER: marker} if job.confined else env,
                    pass_fds=launch.descriptors,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            os.close(ends[0])
            raise ExecError(f"The command could not be started: {error}") from error
        input_ = ends[0] if job.pty else None
        if process.stdin is not None:
            input_ = os.dup(process.stdin.fileno())
            process.stdin.close()
        return LocalChild(process, ends[0], input_, marker)

    def _launched(self, job: Job, env: Mapping[str, str]) -> Launch:
        if not job.confined:
            return Launch(job.argv, ())
        if self._sandbox is None:
            raise EnvironmentUnavailable("The command must be confined and there is no sandbox here; install bubblewrap.")
        return self._sandbox.launch(job.argv, env=env, network=job.network, writable=job.writable, pty=job.pty)
