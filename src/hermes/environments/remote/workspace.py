"""A machine elsewhere as a workspace: the same shell, files, search and processes as here."""

from collections.abc import Callable, Mapping

import anyio

from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.remote.files import RemoteFiles
from hermes.environments.remote.payload import AsideCarrier
from hermes.environments.remote.probe import Machine, probe
from hermes.environments.shell import Shell
from hermes.environments.workspace import QUIET, Authorize, ShellWorkspace, WorkspaceOptions


class RemoteWorkspace(ShellWorkspace):
    """A machine elsewhere: implements `Workspace`. It is made ready, and asked what it is, before the first
    action.

    `cwd` is where commands start, "" for where its own shell does; `env` is added to what it exports. `met`
    gets the machine once it is known, before any decision about it.
    """

    def __init__(
        self,
        environment: RemoteEnvironment,
        *,
        cwd: str,
        env: Mapping[str, str],
        met: Callable[[Machine], None],
        authorize: Authorize,
        clock: Callable[[], float],
        options: WorkspaceOptions,
    ) -> None:
        self._remote = environment
        self._start = cwd
        self._env = dict(env)
        self._met = met
        self._meeting = anyio.Lock()  # invariant: the machine is asked once
        self.machine: Machine | None = None
        super().__init__(
            environment=environment,
            files=RemoteFiles(environment, ripgrep=False, concealed=options.concealed),
            shell=Shell(cwd=cwd or "/", env={}, carrier=AsideCarrier(), bash="bash"),
            home="/",
            authorize=authorize,
            clock=clock,
            options=options,
        )

    async def meet(self) -> Machine:
        """What the machine is; it is made ready for that."""
        async with self._meeting:
            if self.machine is not None:
                return self.machine
            await self._environment.start()
            machine = await probe(self._remote)
            self.settle(machine)
            return machine

    def settle(self, machine: Machine) -> None:
        """Begin with a machine that was asked before."""
        self.machine = machine
        self._home = machine.home
        self._files = RemoteFiles(
            self._remote, ripgrep=bool(machine.ripgrep), concealed=self._options.concealed
        )
        self._shell = Shell(
            cwd=machine.start(self._start),
            env={**machine.exports, **QUIET, **self._env},
            carrier=AsideCarrier(),
            bash="bash",
        )
        self._met(machine)

    async def _ready(self) -> None:
        await self.meet()
