"""Run jobs on another machine, over any way there: what is the same for containers, hosts and clouds."""

import itertools
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from msgspec import Struct

from hermes.environments.base import Child, Finished, Job, Limits
from hermes.environments.remote.payload import Records, boot, compose, end_script, inline, read_records
from hermes.environments.remote.transport import RemoteChild, RemoteTransport
from hermes.environments.supervise import Capture, Captured, follow
from hermes.lib.files import make_private
from hermes.lib.secretvalues import SecretValues
from hermes.types.error import EnvironmentLost, ExecError

TIMED_OUT: Final = 124
_GRACE: Final = 0.4
_KILL_SECONDS: Final = 20.0
_FETCH_SECONDS: Final = 120.0
_BEGIN_SECONDS: Final = 20.0
_STEP: Final = 0.01
_OURS: Final = "/tmp/.hermes-"  # noqa: S108  # there, not here; what follows cannot be guessed
_OWN_ENVIRONMENT: Final = {
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


class Fetched(Struct, frozen=True):
    """What a script of ours gave: exit code, bytes, and what it said on standard error."""

    code: int
    data: bytes
    said: str
    state: bytes = b""


class RemoteEnvironment:
    """A machine elsewhere: implements `Environment`. `mark` is a word that no other environment
    has.

    Uncut outputs go to the folder `outputs` of this machine, without the secrets that are known. `prelude`
    runs before each job.
    """

    def __init__(
        self,
        transport: RemoteTransport,
        *,
        mark: str,
        outputs: Path,
        limits: Limits,
        known: SecretValues | None = None,
        prelude: str = "",
    ) -> None:
        self.transport = transport
        self._mark = mark
        self._outputs = outputs
        self._limits = limits
        self._known = known
        self._prelude = prelude
        self._calls = itertools.count(1)
        self._opening = anyio.Lock()  # invariant: a machine is never made twice
        self._is_open = False
        self._notes: list[str] = []  # what the next command's output ends with

    @property
    def name(self) -> str:
        """What the way there is called."""
        return self.transport.name

    def own_path(self, name: str) -> str:
        """A path there for something of ours, which goes when the machine is given back."""
        return f"{_OURS}{self._mark}-{name}"

    async def start(self) -> None:
        """Make the machine ready."""
        make_private(self._outputs)
        async with self._opening:
            said = await self.transport.open()
            self._notes += [f"[{self.name}: {said}]\n"] if said else []
            self._is_open = True

    async def stop(self) -> None:
        """End what our jobs left running, and give the machine back."""
        if self._is_open:
            await self._end(f"{self._mark}-", _GRACE)
            with suppress(ExecError):
                await self._collected('rm -rf -- "$1"*', (f"{_OURS}{self._mark}-",), b"", _KILL_SECONDS)
            await self.transport.close()
        self._is_open = False

    async def exec(
        self,
        job: Job,
        *,
        timeout: float,
        stdin: bytes | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run a job to its end or for `timeout` seconds; its tree is killed on timeout and on cancellation.

        A machine that is gone before the job began is made ready once more; EnvironmentLost when it goes
        while the job runs.
        """
        for _ in range(2):
            call = _Call(number=next(self._calls), job=job, begun=anyio.current_time())
            capture = Capture(
                self._limits,
                self._outputs / f"output-{os.getpid()}-{call.number}.txt",  # noqa: TID251  # a name of this process's own
                on_output,
                self._known,
            )
            timed_out, records = await self._followed(call, capture, timeout, stdin)
            kept = await capture.end()
            if timed_out or records.code is not None:
                return _finished(call, kept, records, self._noted(), timed_out=timed_out)
            if records.pid or kept.text:
                break
            await self.start()
        raise await self._lost(records, kept)

    async def spawn(self, job: Job) -> Child:
        """Start a job and give it back running, its input open."""
        for _ in range(2):
            call = _Call(number=next(self._calls), job=job, begun=anyio.current_time())
            payload = self._payload(call)
            child = self._launch(call, payload, stdin=None)
            if await (_shows(child) if job.pty else _began(child, payload)):
                return child
            records = read_records(child.aside())
            await child.stop(_GRACE)
            child.release()
            await self.start()
        raise await self._lost(records, None)

    async def fetch(
        self,
        script: str,
        *arguments: str,
        stdin: bytes = b"",
        timeout: float = _FETCH_SECONDS,
        env: Mapping[str, str] | None = _OWN_ENVIRONMENT,
    ) -> Fetched:
        """What one of our own scripts gives, whole; its arguments are $1, $2, … An `env` of None is the
        machine's own.
        """
        for _ in range(2):
            records, data = await self._collected(script, arguments, stdin, timeout, env)
            if records.code is not None:
                return Fetched(records.code, data, records.noise, records.state)
            if records.pid:
                break
            await self.start()
        raise await self._lost(records, None)

    async def _followed(
        self, call: "_Call", capture: Capture, timeout: float, stdin: bytes | None
    ) -> tuple[bool, Records]:
        """Whether the time ran out, and the records."""
        payload = self._payload(call)
        child = self._launch(call, payload, stdin=payload + (stdin or b""))
        try:
            timed_out = await follow(child, capture, timeout, stdin if call.job.pty else None)
            if not timed_out:
                await child.settled()
        finally:
            child.release()
        if timed_out or not call.job.pty:
            return timed_out, read_records(child.aside())
        left, data = await self._collected(
            'cat -- "$1" && rm -f -- "$1"', (self._aside(call),), b"", _FETCH_SECONDS
        )
        return False, read_records(data) if left.code == 0 else left

    async def _collected(
        self,
        script: str,
        arguments: tuple[str, ...],
        stdin: bytes,
        timeout: float,
        env: Mapping[str, str] | None = _OWN_ENVIRONMENT,
    ) -> tuple[Records, bytes]:
        """The records and the output of a script of ours."""
        job = Job(argv=("bash", "--noprofile", "--norc", "-c", script, "bash", *arguments), env=env)
        call = _Call(number=next(self._calls), job=job, begun=anyio.current_time())
        payload = self._payload(call)
        child = self._launch(call, payload, stdin=payload + stdin)
        whole = _Whole()
        try:
            timed_out = await follow(child, whole, timeout, None)
            await child.settled()
        finally:
            child.release()
        if timed_out:
            raise ExecError(f"{self.name} did not answer within {timeout:g} seconds")
        return read_records(child.aside()), bytes(whole.data)

    def _noted(self) -> str:
        notes, self._notes = self._notes, []
        return "".join(notes)

    def _launch(self, call: "_Call", payload: bytes, *, stdin: bytes | None) -> RemoteChild:
        if call.job.pty:
            return self.transport.launch(
                inline(payload), stdin=None, pty=True, end=partial(self._end, self._marker(call))
            )
        return self.transport.launch(
            boot(payload), stdin=stdin, pty=False, end=partial(self._end, self._marker(call))
        )

    def _payload(self, call: "_Call") -> bytes:
        aside = self._aside(call) if call.job.pty else ""
        return compose(call.job.argv, call.job.env, self._marker(call), prelude=self._prelude, aside=aside)

    def _marker(self, call: "_Call") -> str:
        return f"{self._mark}-{call.number}."

    def _aside(self, call: "_Call") -> str:
        return f"{_OURS}{self._marker(call)}state"

    async def _end(self, mark: str, grace: float) -> None:
        """End every process whose mark begins so; a machine that cannot be reached has none of ours that we
        could end.
        """
        with suppress(ExecError):
            await self._collected(end_script(mark, grace), (), b"", _KILL_SECONDS)

    async def _lost(self, records: Records, kept: Captured | None) -> ExecError:
        fault = await self.transport.fault()
        if not records.pid:
            return ExecError(
                f"Nothing can be run on {self.name}:"
                f" {fault or records.noise or (kept.text if kept else '') or 'no answer'}"
            )
        until_then = f"\nIts output until then:\n{kept.text}" if kept is not None and kept.text else ""
        return EnvironmentLost(
            f"{self.name} was lost while the command ran"
            f" ({fault or records.noise or 'the connection ended'}); what it did is not known, the next"
            f" command starts anew.{until_then}"
        )


class _Whole:
    """All of an output: implements `Sink`."""

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def total(self) -> int:
        return len(self.data)

    async def take(self, data: bytes) -> None:
        self.data += data

    async def show(self) -> None:
        """Nobody looks on."""


class _Call(Struct, frozen=True, kw_only=True):
    number: int
    job: Job
    begun: float


def _finished(call: _Call, kept: Captured, records: Records, noted: str, *, timed_out: bool) -> Finished:
    gap = "\n" if noted and kept.text and not kept.text.endswith("\n") else ""
    return Finished(
        text=kept.text + gap + noted,
        code=TIMED_OUT if timed_out or records.code is None else records.code,
        seconds=anyio.current_time() - call.begun,
        timed_out=timed_out,
        clipped=kept.clipped,
        full=kept.full,
        total=kept.total,
        state=records.state,
    )


async def _began(child: RemoteChild, payload: bytes) -> bool:
    """Hand over the payload; whether the job then says that it has begun."""
    left = payload
    with anyio.move_on_after(_BEGIN_SECONDS), suppress(OSError):
        while left:
            taken = child.write(left)
            left = left[taken:]
            if not taken:
                await anyio.sleep(_STEP)
    with anyio.move_on_after(_BEGIN_SECONDS):
        # A process sets no event
        while not read_records(child.aside()).pid and child.poll() is None:  # noqa: ASYNC110
            await anyio.sleep(_STEP)
    return bool(read_records(child.aside()).pid)


async def _shows(child: RemoteChild) -> bool:
    """Wait for the first output on a terminal, which is ours."""
    with anyio.move_on_after(_BEGIN_SECONDS):
        await anyio.wait_readable(child.output)
    return child.poll() is None
