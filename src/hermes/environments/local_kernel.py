"""A Python process on this machine that runs one script after another and keeps their variables."""

import shlex
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Final

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.environments.base import Finished, Job
from hermes.environments.local import TIMED_OUT, LocalEnvironment
from hermes.environments.local_child import LocalChild
from hermes.environments.supervise import Sink, Stream, at_hand, read_on
from hermes.lib.aio import Async, background, first_of
from hermes.types.workspace import AnswerRequest

ENDED: Final = "its process ended by itself (exit code {})"
STOPPED: Final = "the script before did not stop when it was interrupted, so its process was killed"
OTHER_LIMITS: Final = "the process was started under other limits than this script has"
OTHER_VARIABLES: Final = "the environment variables of commands have changed since the process was started"
NARROWED: Final = "the sandbox keeps something from commands now that it did not when the process was started"
_GRACE: Final = 0.4
"""Seconds that an interrupted script has to end."""

_MADE_ANEW: Final = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


@cache
def kernel_command() -> str:
    """The shell command that a kernel is started with."""
    program = (files("hermes.environments") / "kernel_program.py").read_text(encoding="utf-8")
    return f"exec python3 -c {shlex.quote(program)}"


class KernelOrder(Struct, frozen=True, kw_only=True):
    """What a kernel is told of a script: where its module lies, where it begins, and the PYTHONPATH of what
    it starts.
    """

    code: str
    folder: str
    cwd: str
    path: str


class _Ended(Struct, forbid_unknown_fields=True):
    """What a kernel says at the end of a script."""

    ended: int


class ScriptEnd:
    """Hears the end of a script among what it asks; all else is for `answer`."""

    def __init__(self, answer: AnswerRequest) -> None:
        self._answer = answer
        self.code: int | None = None
        self._told = anyio.Event()

    async def answer(self, request: bytes) -> bytes:
        """The answer to one request."""
        try:
            self.code = msgspec.json.decode(request, type=_Ended).ended & 255
        except (msgspec.DecodeError, UnicodeDecodeError):
            return await self._answer(request)
        self._told.set()
        return b"{}"

    async def told(self) -> None:
        """Return once the script has ended."""
        await self._told.wait()


class LocalKernel:
    """A kernel of one session; made by `started`, it ends with `end`."""

    def __init__(self, environment: LocalEnvironment, job: Job) -> None:
        self._environment, self._job = environment, job
        self._seen = environment.mounts(job)
        self._child: LocalChild | None = None
        self._number = 0
        self._killed = False

    @classmethod
    async def started(cls, environment: LocalEnvironment, job: Job) -> "LocalKernel":
        """A kernel in its sandbox; ExecError when it cannot be started."""
        kernel = cls(environment, job)
        kernel._child = await environment.spawn(job)
        return kernel

    def unfit(self, job: Job) -> str:
        """Why it cannot run a script that would be this job; "" when it can."""
        if why := self.gone():
            return why
        if set(self.covered) <= set(job.covered):  # it may enter what it was started for
            job = replace(job, covered=self.covered)
        if _limits(job) != _limits(self._job):
            return OTHER_LIMITS
        if self._variables(job) != self._variables(self._job):
            return OTHER_VARIABLES
        holds = self._child and self._environment.still_holds(self._child, job, self._seen)
        return "" if holds else NARROWED

    @property
    def covered(self) -> tuple[str, ...]:
        """The folders that it may not enter."""
        return self._job.covered

    @property
    def protected(self) -> bool:
        """Whether it cannot change what agents take as instructions."""
        return self._job.protected

    def gone(self) -> str:
        """Why it is no more; "" while it lives."""
        if self._killed:
            return STOPPED
        code = self._child.poll() if self._child else 0
        return "" if code is None else ENDED.format(code)

    async def run(
        self,
        order: KernelOrder,
        end: ScriptEnd,
        timeout: float,
        stop: anyio.Event,
        on_output: Callable[[str], None] | None,
    ) -> Finished:
        """Run a script to its end, until `stop`, or for `timeout` seconds. It is interrupted then, and where
        that does not end it at once, the process is killed.
        """
        child, begun = self._child, anyio.current_time()
        if child is None or child.errors is None:
            raise RuntimeError("this kernel was not started")
        captures = self._environment.captures(on_output)
        streams = ((child, captures.output), (child.errors, captures.errors))
        with self._environment.watched(self._job):
            timed_out = await self._followed(
                child, order, partial(first_of, end.told, child.ended), timeout, stop, streams
            )
            for stream, sink in streams:
                await at_hand(stream, sink)
            kept = await captures.end()
        code = TIMED_OUT if timed_out else child.poll() if end.code is None else end.code
        return replace(
            kept,
            text=kept.text + self._environment.take_notes(),
            code=TIMED_OUT if code is None else code,
            seconds=anyio.current_time() - begun,
            timed_out=timed_out,
        )

    async def end(self) -> None:
        """Kill the process and all that it has started."""
        child, self._child = self._child, None
        if child is not None:
            with anyio.CancelScope(shield=True):
                await child.stop(0)
                child.release()

    def _variables(self, job: Job) -> dict[str, str]:
        given = self._environment.variables(job)
        return {name: one for name, one in given.items() if name not in _MADE_ANEW}

    async def _followed(
        self,
        child: LocalChild,
        order: KernelOrder,
        over: Async[None],
        timeout: float,
        stop: anyio.Event,
        streams: tuple[tuple[Stream, Sink], ...],
    ) -> bool:
        """Whether the time ran out; the script or the process has ended."""
        self._number += 1
        given = False
        try:
            async with background() as start:
                for stream, sink in streams:
                    start(partial(read_on, stream, sink))
                    start(sink.show)
                with anyio.move_on_after(timeout) as scope:
                    await _write(child, {**msgspec.structs.asdict(order), "number": self._number})
                    given = True
                    await first_of(over, stop.wait)
                if scope.cancelled_caught or stop.is_set():
                    await self._interrupt(child, over, _GRACE if given else 0)
        except BaseException:
            await self._kill(child)
            raise
        return scope.cancelled_caught

    async def _interrupt(self, child: LocalChild, over: Async[None], grace: float) -> None:
        """Interrupt the script; kill the process where that does not end it."""
        with anyio.move_on_after(grace) as scope:
            await _write(child, {"interrupt": self._number})
            await over()
        if scope.cancelled_caught:
            await self._kill(child)

    async def _kill(self, child: LocalChild) -> None:
        self._killed = True
        with anyio.CancelScope(shield=True):
            await child.stop(0)


async def _write(child: LocalChild, order: dict[str, object]) -> None:
    words = msgspec.json.encode(order)
    left = len(words).to_bytes(4, "big") + words
    try:
        while left:
            await child.takes_input()
            left = left[child.write(left) :]
    except OSError:
        return  # it has ended, which its reader sees


def _limits(job: Job) -> Job:
    return replace(job, argv=(), env=None)
