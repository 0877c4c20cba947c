"""A workspace that runs scripts: programs that call tools meanwhile."""

from collections.abc import Callable

from msgspec.structs import replace

from hermes.environments.base import Finished
from hermes.environments.env_hints import denial, harmless
from hermes.environments.tool_channel import ToolChannel, variables
from hermes.environments.workspace import ShellWorkspace
from hermes.types.action import Permit
from hermes.types.needs import NO_NEEDS
from hermes.types.script import Script
from hermes.types.workspace import AnswerRequest, ExecResult


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
        await self._ready()
        where = self.cwd
        action = self._action(script.command, where, NO_NEEDS, pty=False)
        permit = await self._permit(action)
        start = self._apart(action, where, permit)
        async with self._channel.open(module, answer, confined=permit.confined) as folder:
            start = replace(start, env={**start.env, **variables(folder, start.env)})
            job = replace(self._job(start, permit, pty=False), errors_apart=True)
            done = await self._environment.exec(job, timeout=timeout, on_output=on_output)
        return result_of(script, where, done, permit)


def result_of(script: Script, where: str, done: Finished, permit: Permit) -> ExecResult:
    """What a script did, with what a sandbox seems to have kept from it."""
    said = replace(done, text=done.text + done.errors)
    return ExecResult(
        text=done.text + harmless(said, permit),
        code=done.code,
        cwd=where,
        seconds=done.seconds,
        timed_out=done.timed_out,
        clipped=done.clipped,
        full=done.full,
        total=done.total,
        errors=done.errors,
        errors_full=done.errors_full,
        denied=denial(script.command, said, permit),
    )
