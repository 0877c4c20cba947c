"""A sandbox made ready before its command: it is compared with the machine as it is then, and used once."""

import os
import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

import anyio

from hermes.environments.process_tree import end_of
from hermes.environments.sandbox.inside import can_look, machine_mounts, shows
from hermes.environments.sandbox.launch import Confinement, Launch
from hermes.environments.sandbox.mounts import Mount
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox
from hermes.lib.aio import Async

Spawn = Callable[[Async[None]], object]

IDLE_SECONDS: Final = 60.0
"""How long a sandbox waits for a command."""

_SETUP_SECONDS: Final = 2.0
_END_SECONDS: Final = 5.0
_MISSES: Final = 5  # in a row: this machine changes faster than commands come


class Prewarmed:
    """A sandbox that was started and waits; `output` is what its command will write."""

    def __init__(
        self, launch: Launch, wanted: Confinement, mounts: list[Mount], env: Mapping[str, str]
    ) -> None:
        self.wanted, self.signal, self.env = wanted, launch.signal, env
        self._mounts, self._machine = mounts, machine_mounts()
        self.output, write = os.pipe()
        try:
            self.process = subprocess.Popen(
                launch.argv,
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                cwd="/",
                env={**CLEAN, **env},
                pass_fds=launch.descriptors,
                start_new_session=True,
            )
        except BaseException:
            os.close(self.output)
            raise
        finally:
            os.close(write)

    async def complete(self) -> bool:
        """Wait until it is set up; False when that failed."""
        with anyio.move_on_after(_SETUP_SECONDS):
            await anyio.wait_readable(self.signal.complete)
            return os.read(self.signal.complete, 1) != b""
        return False

    def fits(self, mounts: list[Mount]) -> bool:
        """Whether it is what would be made now, with these mounts, and shows what they are now; OSError when
        it has ended.
        """
        return (
            mounts == self._mounts and machine_mounts() == self._machine and shows(self.process.pid, mounts)
        )

    async def end(self) -> None:
        """Let it end, whatever happens meanwhile, and everything inside with it.

        It ends by itself when nobody is left to give the signal. One that is being set up is not killed: of a
        bubblewrap that dies then, a process waits forever for its word.
        """
        self.signal.close()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_END_SECONDS):
                await end_of(self.process)
            self.process.kill()
            self.process.wait()
        os.close(self.output)


class Prewarmer:
    """Keeps one sandbox ready, at most, for the next command; it ends when none comes for a while.

    `spawn` runs a job beside its caller, on a loop that outlives the commands: a sandbox ends with the thread
    that has started it. `mark` gives the variables that its processes are known by.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        spawn: Spawn,
        mark: Callable[[], Mapping[str, str]],
        *,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._sandbox, self._spawn, self._mark, self._idle = sandbox, spawn, mark, idle
        self._ready: deque[Prewarmed] = deque()  # popped in one step, for loops in other threads take from it
        self._until = 0.0
        self._watched = False
        self._misses = 0 if sandbox.rules and can_look() else _MISSES

    def request(self, wanted: Confinement) -> None:
        """Have a sandbox made for a next command like this one, unless there is one."""
        if self._misses < _MISSES:
            with suppress(RuntimeError):  # nobody runs jobs any more: what owns the session is being closed
                self._spawn(partial(self._keep, wanted))

    async def take(self, wanted: Confinement) -> Prewarmed | None:
        """The sandbox that waits, for the caller to use, if it is what would be made now; if not, it ends."""
        ready = self._pop()
        if ready is None:
            return None
        try:
            fits = await self._fits(ready, wanted)
        except BaseException:
            self._leave(ready)
            raise
        self._misses = 0 if fits else self._misses + 1
        if not fits:
            self._leave(ready)
        return ready if fits else None

    async def close(self) -> None:
        """End the one that waits, and make no other."""
        self._misses = _MISSES
        self._until = 0.0
        await self._end()

    async def _fits(self, ready: Prewarmed, wanted: Confinement) -> bool:
        if ready.wanted != wanted or not await ready.complete():
            return False
        with suppress(OSError):
            return ready.fits(self._sandbox.mounts(wanted))
        return False

    async def _keep(self, wanted: Confinement) -> None:
        """Make one unless there is one, and end it when it was not taken in time."""
        self._until = anyio.current_time() + self._idle
        if not self._ready and self._misses < _MISSES:
            with suppress(OSError, ValueError):  # the command itself tries again, and says what is wrong
                self._ready.append(self._made(wanted))
        if self._watched:
            return
        self._watched = True
        try:
            # Each command puts the end off
            while (left := self._until - anyio.current_time()) > 0:  # noqa: ASYNC110
                await anyio.sleep(left)
        finally:
            self._watched = False
            await self._end()

    def _made(self, wanted: Confinement) -> Prewarmed:
        mounts = self._sandbox.mounts(wanted)
        with self._sandbox.prepare(wanted, mounts) as launch:
            return Prewarmed(launch, wanted, mounts, self._mark())

    def _pop(self) -> Prewarmed | None:
        with suppress(IndexError):
            return self._ready.popleft()
        return None

    def _leave(self, ready: Prewarmed) -> None:
        """Let one end without waiting for it."""
        ready.signal.close()
        with suppress(RuntimeError):  # as above
            self._spawn(ready.end)

    async def _end(self) -> None:
        ready = self._pop()
        if ready is not None:
            await ready.end()
