"""Run jobs on this machine, within the kernel sandbox when a job asks for it."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from msgspec import Struct
from msgspec.structs import replace

from hermes.environments import process_tree
from hermes.environments.base import Finished, Job, Limits
from hermes.environments.local_child import LocalChild, OutputPipe
from hermes.environments.orphans import OrphanWatch
from hermes.environments.pty import on_terminal, open_terminal
from hermes.environments.sandbox.launch import Confinement, Launch, SetupRetries, StartSignal
from hermes.environments.sandbox.mounts import Mount
from hermes.environments.sandbox.prewarm import Prewarmer, Spawn
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox
from hermes.environments.supervise import Capture, follow
from hermes.lib.files import make_private
from hermes.lib.secretvalues import SecretValues
from hermes.types.error import EnvironmentUnavailable, ExecError

TIMED_OUT: Final = 124
_STEP: Final = 0.002


class Captures(Struct, frozen=True):
    """What keeps the two streams of a job."""

    output: Capture
    errors: Capture

    async def end(self) -> Finished:
        """Show the rest of both; their text, as that of a job that has just begun."""
        kept, errors = await self.output.end(), await self.errors.end()
        return Finished(
            text=kept.text,
            code=0,
            seconds=0,
            clipped=kept.clipped,
            full=kept.full,
            total=kept.total,
            errors=errors.text,
            errors_full=errors.full,
        )


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
        error_limits: Limits | None = None,
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
        self._limits, self._error_limits = limits, error_limits or limits
        self._sandbox = sandbox
        self._calls = itertools.count(1)
        self._begun = set[str]()  # the marks of all jobs
        self._behind: list[LocalChild] = []  # confined ones in the background
        self._unprotected: list[LocalChild] = []  # of these, those that can change instructions of agents
        self._orphans = OrphanWatch()
        self._in_front = 0  # confined ones, whose callers wait

    async def start(self) -> None:
        """Make the folder for outputs."""
        make_private(self._outputs)

    async def stop(self) -> None:
        """Stop what serves jobs."""
        await self._orphans.close()
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
        with self.watched(job):
            retries = self._retries(job)
            ready = await self._taken(job, stdin)
            while True:
                child = ready or await self._started(partial(self._foreground, job, stdin), retries)
                ready = None
                # What comes before the command has begun are words of the sandbox: they are no output.
                shown = partial(_show, child, on_output) if on_output and job.confined else on_output
                captures = self.captures(shown)
                beside = [(child.errors, captures.errors)] if child.errors else []
                try:
                    timed_out = await follow(
                        child, captures.output, timeout, stdin if job.pty else None, beside
                    )
                    reached = child.begun()
                finally:
                    child.release()
                    if not job.confined:
                        self._orphans.ended(child.pid)
                kept = await captures.end()
                if reached or timed_out or retries is None:
                    break
                await retries.again(kept.text + kept.errors)
        self._request(job)
        code = TIMED_OUT if timed_out else child.poll()
        return replace(
            kept,
            text=kept.text + self.take_notes(),
            code=TIMED_OUT if code is None else code,
            seconds=anyio.current_time() - begun,
            timed_out=timed_out,
        )

    async def spawn(self, job: Job) -> LocalChild:
        """Start a job and give it back running, its input open."""
        with self.watched(job):
            retries = self._retries(job)
            start = partial(self._background, job)
            while True:
                child = await self._started(start, retries)
                while not child.begun() and child.poll() is None:  # noqa: ASYNC110  # the kernel tells no other way
                    await anyio.sleep(_STEP)
                if child.begun() or retries is None:
                    self._behind += [child] if job.confined else []
                    self._unprotected += [child] if job.confined and not job.protected else []
                    return child
                said = child.read() or b""
                child.release()
                await retries.again(said.decode("utf-8", "replace"))

    @contextmanager
    def watched(self, job: Job) -> Iterator[None]:
        """While a confined job is in the foreground: what it planted is gone at the end, interrupted or not.

        What is there at first is the user's own, unless a job that runs beside it may have made it.
        """
        if self._behind:
            self._notes += self._refused()
        if not (self._sandbox and job.confined):
            yield
            return
        allowed = self._sandbox.keeps_instructions and not job.protected  # a person said yes to its changes
        self._sandbox.begin(_confinement(job))
        self._in_front += 1
        try:
            yield
        finally:
            self._in_front -= 1
            if allowed:
                self._sandbox.accept_instructions()
            self._notes += self._refused()

    def protect_instructions(self) -> None:
        """From now on, move aside what confined jobs that run now make of what agents take as
        instructions.
        """
        running, self._unprotected = [one for one in self._unprotected if one.poll() is None], []
        if self._sandbox and (running or self._in_front):
            self._sandbox.begin(Confinement(protected=True))

    def runs(self) -> bool:
        """Whether a process of a job still runs, in the background or left behind, as far as it keeps the
        mark that it inherited.
        """
        return bool(self._begun) and not self._begun.isdisjoint(process_tree.markers())

    def mounts(self, job: Job) -> list[Mount]:
        """What a confined job would see of the machine now."""
        return self._sandbox.mounts(_confinement(job)) if self._sandbox else []

    def variables(self, job: Job) -> Mapping[str, str]:
        """The environment that a confined job would get, with what its sandbox sets."""
        env = job.env or {}
        return self._sandbox.variables(env, _confinement(job)) if self._sandbox else env

    def still_holds(self, child: LocalChild, job: Job, seen: list[Mount]) -> bool:
        """Whether a child that began with `seen` can do no more than this job could now."""
        return self._sandbox is None or self._sandbox.still_holds(child.pid, _confinement(job), seen)

    def _retries(self, job: Job) -> SetupRetries | None:
        return self._sandbox.retries() if job.confined and self._sandbox else None

    async def _taken(self, job: Job, stdin: bytes | None) -> LocalChild | None:
        """The job in the sandbox that was made ready, if it is one for it."""
        # One that waits has a single pipe
        if job.pty or job.errors_apart or stdin is not None:
            return None
        if not (self._sandbox and self._prewarmer and job.confined):
            return None
        ready = await self._prewarmer.take(_confinement(job))
        if ready is None:
            return None
        try:
            self._sandbox.tell(ready.signal, job.argv, {**(job.env or {}), **ready.env}, ready.wanted)
        except (OSError, ValueError) as error:
            await ready.end()
            raise ExecError(f"The command could not be started: {error}") from error
        self._begun.add(ready.env[process_tree.MARKER])
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

    def captures(self, on_output: Callable[[str], None] | None) -> "Captures":
        """What keeps the two streams of one more job, within the limits."""
        name = f"{os.getpid()}-{next(self._calls)}.txt"  # noqa: TID251  # a name of this process's own
        return Captures(
            output=Capture(self._limits, self._outputs / f"output-{name}", on_output, self._known),
            errors=Capture(self._error_limits, self._outputs / f"errors-{name}", on_output, self._known),
        )

    def take_notes(self) -> str:
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
        errors = os.pipe() if job.errors_apart else None
        writes = (ends[1], errors[1] if errors else ends[1])
        try:
            env = {**(job.env or {}), **mark}
            if job.confined:
                with self._confined(job, env, steady) as launch:
                    process = _start(job, launch.argv, {**CLEAN, **mark}, writes, stdin, launch)
                    signal: StartSignal | None = launch.signal
            else:
                process, signal = _start(job, job.argv, env, writes, stdin, None), None
                self._orphans.begun(process.pid, mark[process_tree.MARKER])
        except (OSError, ValueError) as error:
            for read in (ends[0], *(errors or ())[:1]):
                os.close(read)
            raise ExecError(f"The command could not be started: {error}") from error
        finally:
            if errors:
                os.close(errors[1])
        self._begun.update(mark.values())
        input_ = ends[0] if job.pty else None
        if process.stdin is not None:
            input_ = os.dup(process.stdin.fileno())
            process.stdin.close()
        beside = OutputPipe(errors[0]) if errors else None
        return LocalChild(process, ends[0], input_, mark[process_tree.MARKER], signal, beside)

    def _confined(self, job: Job, env: Mapping[str, str], steady: frozenset[str] | None) -> Launch:
        if self._sandbox is None:
            raise EnvironmentUnavailable(
                "The command must be confined and there is no sandbox here; install bubblewrap."
            )
        return self._sandbox.launch(job.argv, env=env, wanted=_confinement(job), steady=steady)


def _confinement(job: Job) -> Confinement:
    return Confinement(
        network=job.network,
        writable=job.writable,
        paths=job.paths,
        protected=job.protected,
        covered=job.covered,
        pty=job.pty,
    )


def _start(
    job: Job,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    writes: tuple[int, int],
    stdin: int,
    launch: Launch | None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        on_terminal(argv, writes[0]) if job.pty else argv,
        stdin=stdin,
        stdout=writes[0],
        stderr=writes[1],
        cwd="/",
        env=env,
        pass_fds=launch.descriptors if launch else (),
        start_new_session=True,
    )


def _show(child: LocalChild, on_output: Callable[[str], None], text: str) -> None:
    if child.begun():
        on_output(text)
