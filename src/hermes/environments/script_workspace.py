"""A workspace that runs scripts: programs that call tools meanwhile."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.environments.base import Finished
from hermes.environments.env_hints import denial, harmless
from hermes.environments.tool_channel import ToolChannel, variables
from hermes.environments.workspace import ShellWorkspace
from hermes.types.action import Command, Permit
from hermes.types.needs import NO_NEEDS
from hermes.types.script import KernelUse, Script
from hermes.types.workspace import AnswerRequest, ExecResult

NO_KERNEL: Final = "not used: on a machine elsewhere each script runs in a process of its own"


class DecidedScript(Struct, frozen=True):
    """A script that may run in the directory `where`."""

    script: Script
    where: str
    action: Command
    permit: Permit


class ScriptWorkspace(ShellWorkspace):
    """A workspace whose programs have a way to the session: implements `Workspace`."""

    _channel: ToolChannel

    async def run_script(
        self,
        script: Script,
        *,
        module: str,
        answer: AnswerRequest,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run a script in a shell of its own, where Python finds the module `hermes_tools`; `answer` gets
        what that asks. Refused when the decision is no.
        """
        decided = await self._decide(script)
        return await self._run_apart(
            decided, module=module, answer=answer, timeout=timeout, on_output=on_output
        )

    async def run_in_kernel(self, script: Script, **options: Any) -> ExecResult:
        """Run a script by itself, and say that there is no kernel here."""
        return replace(await self.run_script(script, **options), kernel=KernelUse(state=NO_KERNEL))

    async def end_kernel(self, why: str) -> None:
        """There is none."""

    async def protect_instructions(self) -> None:
        """Keep what runs on from changing what agents take as instructions: nothing here can be kept from
        it.
        """

    async def _decide(self, script: Script) -> DecidedScript:
        await self._ready()
        where = self.cwd
        action = await self._action(script.command, where, NO_NEEDS, pty=False)
        return DecidedScript(script, where, action, await self._permit(action))

    async def _run_apart(
        self, decided: DecidedScript, *, module: str, answer: AnswerRequest, **options: Any
    ) -> ExecResult:
        permit = decided.permit
        async with self._channel.open(module, answer, confined=permit.confined) as folder:
            start = await self._apart(decided.action, decided.where, permit)
            start = replace(start, env={**start.env, **variables(folder, start.env)})
            job = replace(self._job(start, permit, pty=False), errors_apart=True)
            done = await self._environment.exec(job, **options)
        return result_of(decided, done)


def result_of(decided: DecidedScript, done: Finished) -> ExecResult:
    """What a script did, with what a sandbox seems to have kept from it."""
    said = replace(done, text=done.text + done.errors)
    return ExecResult(
        text=done.text + harmless(said, decided.permit),
        code=done.code,
        cwd=decided.where,
        seconds=done.seconds,
        timed_out=done.timed_out,
        clipped=done.clipped,
        full=done.full,
        total=done.total,
        errors=done.errors,
        errors_full=done.errors_full,
        denied=denial(decided.script.command, said, decided.permit),
    )
