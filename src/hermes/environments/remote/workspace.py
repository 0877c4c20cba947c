"""A machine elsewhere as a workspace: asked what it is, then the same shell, files, search and processes as
here.
"""

import shlex
from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import anyio
from msgspec import Struct, field

from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.remote.files import RemoteFiles
from hermes.environments.remote.payload import ASIDE, AsideCarrier
from hermes.environments.remote.tool_files import FileChannel
from hermes.environments.script_workspace import ScriptWorkspace
from hermes.environments.shell import DUMP, Shell
from hermes.environments.shell_state import parse_dump
from hermes.environments.workspace import QUIET, Authorize, WorkspaceOptions
from hermes.lib.abridged import Abridged
from hermes.types.error import EnvironmentUnavailable

_ANSWER_SECONDS: Final = 45.0
_FACTS: Final = (
    '{ uname -sm; id -un; hostname; . /etc/os-release; echo "$PRETTY_NAME"; command -v rg || echo; command -v'
    " git || echo; } 2>/dev/null"
)


class Machine(Abridged, Struct, frozen=True, kw_only=True):
    """A machine elsewhere: `system` as in `Linux x86_64`, `name` of the distribution, where its shell starts,
    and what it exports.
    """

    unshown: ClassVar = ("exports",)

    system: str
    user: str
    host: str
    name: str
    home: str
    cwd: str
    ripgrep: str = ""
    git: str = ""
    exports: Mapping[str, str] = field(default_factory=dict)

    def start(self, wanted: str) -> str:
        """Where a shell starts that should start in `wanted`: `~` is the home there, "" where the machine's
        own shell does.
        """
        return self.home + wanted[1:] if wanted.startswith("~") else wanted or self.cwd


class RemoteWorkspace(ScriptWorkspace):
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
        self._channel = FileChannel(environment)
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


async def probe(environment: RemoteEnvironment) -> Machine:
    """The machine at the end of an open environment, as a login shell there tells it; EnvironmentUnavailable
    when it has no bash.
    """
    # A login shell may print a greeting: only what comes between the marks is ours.
    script = f"builtin printf '\\0'; {_FACTS}; builtin printf '\\0'; {DUMP.format(target=f'>&{ASIDE}')}"
    fetched = await environment.fetch(
        f'"$BASH" -l -c {shlex.quote(script)}', env=None, timeout=_ANSWER_SECONDS
    )
    dump, parts = parse_dump(fetched.state), fetched.data.decode("utf-8", "replace").split("\0")
    if dump is None or len(parts) != 3:
        raise EnvironmentUnavailable(
            f"{environment.name} has no usable bash, which commands run in"
            f" ({fetched.said or 'it gave no answer'}); choose an image or host that has one."
        )
    system, user, host, name, ripgrep, git = [*parts[1].splitlines(), *[""] * 6][:6]
    home = dump.exports.get("HOME") or dump.cwd
    return Machine(
        system=system,
        user=user,
        host=host,
        name=name,
        home=home,
        cwd=dump.cwd,
        ripgrep=ripgrep,
        git=git,
        exports=dict(dump.exports),
    )
