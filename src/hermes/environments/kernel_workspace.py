"""A workspace on this machine whose scripts can share one process, a kernel, that keeps their variables."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from hermes.environments.base import Job
from hermes.environments.local import LocalEnvironment
from hermes.environments.local_kernel import KernelOrder, LocalKernel, ScriptEnd, kernel_command
from hermes.environments.script_workspace import DecidedScript, ScriptWorkspace, result_of
from hermes.environments.tool_channel import EMPTY, variables
from hermes.environments.workspace import is_clean
from hermes.lib.aio import background
from hermes.types.needs import NO_NEEDS
from hermes.types.script import KernelUse, Script
from hermes.types.workspace import AnswerRequest, ExecResult

UNCONFINED: Final = (
    "not used: outside the sandbox each script runs in a process of its own, for its text is all that is"
    " decided about"
)
READ_OUTSIDE: Final = (
    "text from outside was read, and what runs on from before could change what agents take as instructions"
)
_OF_ONE_SCRIPT: Final = ("PYTHONPATH",)


class KernelWorkspace(ScriptWorkspace):
    """A workspace with a kernel: implements `Workspace`."""

    def __init__(self, environment: LocalEnvironment, **options: Any) -> None:
        super().__init__(environment=environment, **options)
        self._local = environment
        self._kernel: LocalKernel | None = None
        self._lost = self._source = ""
        self._one_script = anyio.Lock()  # invariant: one script at a time uses the kernel

    async def run_in_kernel(self, script: Script, **options: Any) -> ExecResult:
        """Run a script with the variables of those before it; Refused when the decision is no."""
        async with self._one_script:
            decided = await self._decide(script)
            if not decided.permit.confined:
                done = await self._run_apart(decided, **options)
                return replace(done, kernel=KernelUse(state=UNCONFINED))
            kernel, use = await self._kernel_for(decided)
            if kernel.covered != decided.permit.covered:
                self._options.heard(self._source)
            now = await self._now(decided.action, decided.where, decided.permit)
            self._redeem(decided.permit, now)
            done = await self._run_in(kernel, decided, **options)
            why = kernel.gone()
            return replace(done, kernel=KernelUse(state="ended", lost=why) if why else use)

    async def end_kernel(self, why: str) -> None:
        """End the kernel, if there is one; the next script is told why its variables are lost."""
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            self._lost = why
            await kernel.end()

    async def protect_instructions(self) -> None:
        """Keep what runs on from changing what agents take as instructions: a kernel that could is ended,
        unless a script runs in it now, and what jobs make of them is moved aside.
        """
        if self._kernel is not None and not (self._kernel.protected or self._one_script.locked()):
            await self.end_kernel(READ_OUTSIDE)
        self._local.protect_instructions()

    async def close(self) -> None:
        """Stop what still runs, and give back what the environment holds."""
        with anyio.CancelScope(shield=True):
            await self.end_kernel("")
            await super().close()

    async def _kernel_for(self, decided: DecidedScript) -> tuple[LocalKernel, KernelUse]:
        """The kernel that runs under this permit: the one that is there, or a fresh one."""
        job = self._kernel_job(decided)
        if self._kernel is not None:
            why = self._kernel.unfit(job)
            if not why:
                return self._kernel, KernelUse(state="kept")
            await self.end_kernel(why)
        self._kernel = await LocalKernel.started(self._local, job)
        self._source = decided.permit.outside  # what it was started with it may read for later scripts, too
        lost, self._lost = self._lost, ""
        return self._kernel, KernelUse(state="started", lost=lost)

    def _kernel_job(self, decided: DecidedScript) -> Job:
        start = self._shell.prepare(
            kernel_command(),
            cwd=decided.where,
            confined=True,
            clean=is_clean(decided.permit, NO_NEEDS),
            carry=False,
        )
        given = {name: one for name, one in variables("", {}).items() if name not in _OF_ONE_SCRIPT}
        start = replace(start, env={**start.env, **given})
        return replace(self._job(start, decided.permit, pty=False), errors_apart=True)

    async def _run_in(
        self,
        kernel: LocalKernel,
        decided: DecidedScript,
        *,
        module: str,
        answer: AnswerRequest,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        end = ScriptEnd(answer)
        async with (
            _told_of_cancellation() as stop,
            self._channel.open(module, end.answer, confined=True) as folder,
        ):
            script = decided.script
            order = KernelOrder(
                code=script.code,
                folder=folder,
                cwd=f"{folder}/{EMPTY}" if script.strict else decided.where,
                path=variables(folder, self._shell.exports)["PYTHONPATH"],
            )
            done = await kernel.run(order, end, timeout, stop, on_output)
        return result_of(decided, done)


@asynccontextmanager
async def _told_of_cancellation() -> AsyncIterator[anyio.Event]:
    """Shields what is within from being cancelled, and gives an event that says that it should end; it is
    cancelled afterwards.
    """
    stop = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stop.set()

    async with background() as start:
        start(wait)
        with anyio.CancelScope(shield=True):
            yield stop
    await anyio.lowlevel.checkpoint_if_cancelled()
