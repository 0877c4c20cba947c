"""Run jobs on this machine, within the kernel sandbox when a job asks for it."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from hermes.environments import process_tree
from hermes.environments.base import Finished, Job, Limits
from hermes.environments.pty import on_terminal, open_terminal
from hermes.environments.sandbox.launch import Confinement, Launch, SetupRetries, StartSignal
from hermes.environments.sandbox.prewarm import Prewarmer, Spawn
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox
from hermes.environments.supervise import Capture, follow
from hermes.lib.files import make_private
from hermes.lib.secretvalues import SecretValues
from hermes.types.error import EnvironmentUnavailable, ExecError

TIMED_OUT: Final = 124
_CHUNK: Final = 65_536
_STEP: Final = 0.002
_END_OF_INPUT: Final = b"\x04"  # what a terminal takes for the end of input


class LocalChild:
    """A process on this machine: implements `Child`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        input_: int | None,
        marker: str,
        signal: StartSignal | None = None,
    ) -> None:
        self._process = process
        self._signal = signal
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
        os.close(self.output)
        if self._signal is not None:
            self._signal.close()


class LocalEnvironment:
    """This machine: implements `Environment`. Uncut outputs go to the folder `outputs`, without the secrets
    that are known.

    `note` is a sentence that ends the first output; `spawn` runs jobs beside the caller's, and with it a
    sandbox is made ready for the next command.
    """

    name = "local"

    def __init__(
        self,
        *,
        outputs: Path,
        limits: Limits,
        sandbox: Sandbox | None = None,
        known: SecretValues | None = None,
        note: str = "",
        spawn: Spawn | None = None,
    ) -> None:
        self._prewarmer = Prewarmer(sandbox, spawn, self._marked) if sandbox and spawn else None
        left = sandbox.take_left() if sandbox else ()
        self._notes = [*([f"[sandbox: {note}]\n"] if note else ()), *(f"[{sentence}]\n" for sentence in left)]
        self._outputs = outputs
        self._known = known
        self._limits = limits
        self._sandbox = sandbox
        self._calls = itertools.count(1)
        self._behind: list[LocalChild] = []  # confined ones in the background
        self._in_front = 0  # confined ones, whose callers wait

    async def start(self) -> None:
        """Make the folder for outputs."""
        make_private(self._outputs)

    async def stop(self) -> None:
        """Stop what serves confined jobs."""
        if self._prewarmer:
            await self._prewarmer.close()
        if self._sandbox:
            self._refused()
            self._sandbox.close()

    async def exec(
        self,
        job: Job,
        *,
        timeout: float,
        stdin: bytes | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run a job to its end or for `timeout` seconds; its tree is killed on timeout and on
        cancellation.
        """
        begun = anyio.current_time()
        call = next(self._calls)
        spill = self._outputs / f"output-{os.getpid()}-{call}.txt"  # noqa: TID251  # a name of this process's own
        with self._watched(job):
            retries = self._retries(job)
            ready = await self._taken(job, stdin)
            while True:
                child = ready or await self._started(partial(self._foreground, job, stdin), retries)
                ready = None
                # What comes before the command has begun are words of the sandbox: they are no output.
                shown = partial(_show, child, on_output) if on_output and job.confined else on_output
                capture = Capture(self._limits, spill, shown, self._known)
                try:
                    timed_out = await follow(child, capture, timeout, stdin if job.pty else None)
                    reached = child.begun()
                finally:
                    child.release()
                kept = await capture.end()
                if reached or timed_out or retries is None:
                    break
                await retries.again(kept.text)
        noted = self._noted()
        self._request(job)
        code = TIMED_OUT if timed_out else child.poll()
        return Finished(
            text=kept.text + noted,
            code=TIMED_OUT if code is None else code,
            seconds=anyio.current_time() - begun,
            timed_out=timed_out,
            clipped=kept.clipped,
            full=kept.full,
        )

    async def spawn(self, job: Job) -> LocalChild:
        """Start a job and give it back running, its input open."""
        with self._watched(job):
            retries = self._retries(job)
            start = partial(self._background, job)
            while True:
                child = await self._started(start, retries)
                while not child.begun() and child.poll() is None:  # noqa: ASYNC110  # the kernel tells no other way
                    await anyio.sleep(_STEP)
                if child.begun() or retries is None:
                    self._behind += [child] if job.confined else []
                    return child
                said = child.read() or b""
                child.release()
                await retries.again(said.decode("utf-8", "replace"))

    @contextmanager
    def _watched(self, job: Job) -> Iterator[None]:
        """While a confined job is in the foreground: what it planted is gone at the end, interrupted or not.

        What is there at first is the user's own, unless a job that runs beside it may have made it.
        """
        if self._behind:
            self._notes += self._refused()
        if not (self._sandbox and job.confined):
            yield
            return
        self._sandbox.begin(_confinement(job))
        self._in_front += 1
        try:
            yield
        finally:
            self._in_front -= 1
            self._notes += self._refused()

    def _retries(self, job: Job) -> SetupRetries | None:
        return self._sandbox.retries() if job.confined and self._sandbox else None

    async def _taken(self, job: Job, stdin: bytes | None) -> LocalChild | None:
        """The job in the sandbox that was made ready, if it is one for it."""
        if not (self._sandbox and self._prewarmer and job.confined) or job.pty or stdin is not None:
            return None
        ready = await self._prewarmer.take(_confinement(job))
        if ready is None:
            return None
        try:
            self._sandbox.tell(ready.signal, job.argv, {**(job.env or {}), **ready.env}, ready.wanted)
        except (OSError, ValueError) as error:
            await ready.end()
            raise ExecError(f"The command could not be started: {error}") from error
        return LocalChild(ready.process, ready.output, None, ready.env[process_tree.MARKER], ready.signal)

    def _request(self, job: Job) -> None:
        """Have a sandbox made ready for a next command like this one."""
        if self._prewarmer and job.confined and not job.pty:
            self._prewarmer.request(_confinement(job))

    def _marked(self) -> dict[str, str]:
        """What the processes of one more call are known by."""
        return {process_tree.MARKER: f"{os.getpid()}-{id(self):x}-{next(self._calls)}"}  # noqa: TID251  # a name of this process's own

    async def _started(
        self, start: Callable[[frozenset[str] | None], LocalChild], retries: SetupRetries | None
    ) -> LocalChild:
        """A child; what a sandbox needs may vanish while it is prepared."""
        while True:
            try:
                return start(retries.steady if retries else None)
            except ExecError as error:
                if retries is None:
                    raise
                await retries.again(str(error))

    def _noted(self) -> str:
        """The note, once, and what the sandbox has refused: most programs show no more of it than a
        number.
        """
        notes, self._notes = self._notes, []
        return "".join(notes)

    def _refused(self) -> list[str]:
        if self._sandbox is None:
            return []
        self._behind = [child for child in self._behind if child.poll() is None]
        refused = [f"[{sentence}]\n" for sentence in self._sandbox.take_refused()]
        if not (self._behind or self._in_front):
            self._sandbox.end()
        return refused

    def _background(self, job: Job, steady: frozenset[str] | None) -> LocalChild:
        if job.pty:
            return self._on_terminal(job, steady)
        read, write = os.pipe()
        try:
            return self._launch(job, steady, ends=(read, write), stdin=subprocess.PIPE)
        finally:
            os.close(write)

    def _foreground(self, job: Job, stdin: bytes | None, steady: frozenset[str] | None) -> LocalChild:
        if job.pty:
            return self._on_terminal(job, steady)
        read, write = os.pipe()
        try:
            if stdin is None:
                return self._launch(job, steady, ends=(read, write), stdin=subprocess.DEVNULL)
            with tempfile.TemporaryFile() as source:  # a file cannot fill up as a pipe does
                source.write(stdin)
                source.seek(0)
                return self._launch(job, steady, ends=(read, write), stdin=source.fileno())
        finally:
            os.close(write)

    def _on_terminal(self, job: Job, steady: frozenset[str] | None) -> LocalChild:
        ours, theirs = open_terminal()
        try:
            return self._launch(job, steady, ends=(ours, theirs), stdin=theirs)
        finally:
            os.close(theirs)

    def _launch(
        self, job: Job, steady: frozenset[str] | None, *, ends: tuple[int, int], stdin: int
    ) -> LocalChild:
        mark = self._marked()
        try:
            env = {**(job.env or {}), **mark}
            if job.confined:
                with self._confined(job, env, steady) as launch:
                    process = _start(job, launch.argv, {**CLEAN, **mark}, ends, stdin, launch)
                    signal: StartSignal | None = launch.signal
            else:
                process, signal = _start(job, job.argv, env, ends, stdin, None), None
        except (OSError, ValueError) as error:
            os.close(ends[0])
            raise ExecError(f"The command could not be started: {error}") from error
        input_ = ends[0] if job.pty else None
        if process.stdin is not None:
            input_ = os.dup(process.stdin.fileno())
            process.stdin.close()
        return LocalChild(process, ends[0], input_, mark[process_tree.MARKER], signal)

    def _confined(self, job: Job, env: Mapping[str, str], steady: frozenset[str] | None) -> Launch:
        if self._sandbox is None:
            raise EnvironmentUnavailable(
                "The command must be confined and there is no sandbox here; install bubblewrap."
            )
        return self._sandbox.launch(job.argv, env=env, wanted=_confinement(job), steady=steady)


def _confinement(job: Job) -> Confinement:
    return Confinement(
        network=job.network, writable=job.writable, paths=job.paths, protected=job.protected, pty=job.pty
    )


def _start(
    job: Job,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    ends: tuple[int, int],
    stdin: int,
    launch: Launch | None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        on_terminal(argv, ends[1]) if job.pty else argv,
        stdin=stdin,
        stdout=ends[1],
        stderr=ends[1],
        cwd="/",
        env=env,
        pass_fds=launch.descriptors if launch else (),
        start_new_session=True,
    )


def _show(child: LocalChild, on_output: Callable[[str], None], text: str) -> None:
    if child.begun():
        on_output(text)
