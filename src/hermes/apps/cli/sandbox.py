"""`hermes sandbox`: what confines commands on this machine, running one confined, and keeping a container's
files.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.capabilities import CapabilitySettings, configured
from hermes.agent.tool_environment import network_of, outside_folders, sandbox_options
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, here
from hermes.commands.variables import ADD, by_reason, variables
from hermes.config.environ import CONFINED
from hermes.environments.child_env import ChildEnvironment
from hermes.environments.local_workspace import local_bash, open_sandbox
from hermes.environments.remote.choose import choose
from hermes.environments.remote.docker import DockerTransport
from hermes.environments.remote.transport import Origin
from hermes.environments.sandbox.launch import Confinement, Launch
from hermes.environments.sandbox.mounts import INSIDE, Mode, Scratch
from hermes.environments.sandbox.probe import why_none
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox
from hermes.environments.sandbox.sandbox_status import Layer, layers
from hermes.environments.settings import TerminalSettings
from hermes.environments.shell import FileCarrier, Shell
from hermes.environments.workspace import QUIET
from hermes.lib.hosts import entry
from hermes.lib.resources import resources_in_force
from hermes.safety.bounds import network_within
from hermes.safety.outside_folders import OutsideFolder
from hermes.safety.settings import ApprovalSettings
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError

INSTALL: Final = (
    "install it with: apt install bubblewrap (or your system's way), or: pip install 'hermes-agent[sandbox]'"
)

ALLOW: Final = (
    "the kernel must let you make user namespaces (sysctl kernel.unprivileged_userns_clone, or the AppArmor"
    " profile of bwrap)"
)

MODES: Final = ("read-only", "workspace", "full")


@click.group()
def sandbox() -> None:
    """What confines commands."""


@sandbox.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def status(choices: Choices, *, as_json: bool) -> None:
    """What is enforced here, layer by layer, and what is not."""
    place = here(choices)
    with _opened(place, place.settings[TerminalSettings].sandbox_mode) as opened:
        if as_json or choices.as_json:
            click.echo(msgspec.json.encode(_plain(place, opened.sandbox)))
            return
        for line in _status(place, opened.sandbox):
            click.echo(line)


@sandbox.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=None,
    help="What it may write.  [default: terminal.sandbox_mode]",
)
@click.option(
    "--network",
    "hosts",
    is_flag=False,
    flag_value="all",
    default=None,
    metavar="[HOST,…]",
    help=(
        "With the network, or with these hosts: --network=example.com,*.example.org.  [default:"
        " terminal.network]"
    ),
)
@click.argument("command", nargs=-1, required=True)
@click.pass_obj
def run(choices: Choices, command: tuple[str, ...], mode: Mode | None, hosts: str | None) -> None:
    """Run a command confined as the agent's commands are.

    COMMAND is a command line as one argument, or its words. It can read standard input; its exit code is
    passed on.
    """
    place = here(choices)
    if CONFINED in place.environ:
        raise ConfigError("This runs in the sandbox already, and another one cannot be made in it.")
    wanted = network_of(place.settings[TerminalSettings]) if hosts is None else _given(hosts)
    network = network_within(wanted, _bounds(place))
    with _opened(place, mode or place.settings[TerminalSettings].sandbox_mode) as opened:
        if opened.sandbox is None:
            raise ConfigError(_why(place.environ))
        text = command[0] if len(command) == 1 else shlex.join(command)
        for refused in opened.sandbox.take_left():
            click.echo(f"hermes: {refused}", err=True)
        opened.sandbox.begin()
        try:
            with _ended_as_by_ctrl_c():
                code = _run(opened, opened.sandbox, text, network)
        finally:  # also of a command that was interrupted what is new is looked at
            for refused in opened.sandbox.take_refused():
                click.echo(f"hermes: {refused}", err=True)
    sys.exit(128 - code if code < 0 else code)


@sandbox.command()
@click.argument("name", metavar="IMAGE")
@click.pass_obj
def snapshot(choices: Choices, name: str) -> None:
    """Keep the files of the container that commands run in here as an image, to begin anew with."""
    place = here(choices)
    terminal = place.settings[TerminalSettings]
    origin = Origin(cwd=place.cwd, hermes_home=place.home.root, environ=place.environ, mark="snapshot")
    transport = (
        choose(terminal, origin).transport
        if terminal.backend != "local" and terminal.container_persistent
        else None
    )
    if not isinstance(transport, DockerTransport):
        raise ConfigError(
            "There is no container to keep: that needs terminal.backend docker or podman, and"
            " container_persistent."
        )
    anyio.run(_keep, transport, name)
    click.echo(f"Kept as {name}. A container begins with it when terminal.docker_image is {name}.")


async def _keep(transport: DockerTransport, name: str) -> None:
    await transport.open()
    await transport.snapshot(name)


class _Opened(Struct, frozen=True):
    """A sandbox for this directory, or None, with the folders that it needs."""

    place: Here
    sandbox: Sandbox | None
    folder: Path

    def launch(
        self,
        confining: Sandbox,
        command: str,
        network: bool | tuple[str, ...],  # noqa: FBT001  # no flag: what is open
        steady: frozenset[str] | None,
    ) -> Launch:
        """How to run a command line as a session's first command would run."""
        env = {**QUIET, **_variables(self.place).given}
        shell = Shell(
            cwd=str(self.place.cwd),
            env=env,
            carrier=FileCarrier(self.folder, INSIDE),
            bash=local_bash(self.place.environ, self.place.cwd),
            guarded=True,
            first=confining.first,
        )
        start = shell.prepare(command, confined=True, clean=False, carry=False)
        closed = (
            one.real for one in _closed(self.place) if not one.is_named_by(command, (str(self.place.cwd),))
        )
        wanted = Confinement(network=network, covered=tuple(closed))
        return confining.launch(start.argv, env=start.env, wanted=wanted, steady=steady)


def _run(
    opened: _Opened,
    sandbox: Sandbox,
    text: str,
    network: bool | tuple[str, ...],  # noqa: FBT001  # as a job has it
) -> int:
    """Run a command line in the sandbox, which is set up again while that fails; its exit code."""
    retries = sandbox.retries()
    while True:
        with opened.launch(sandbox, text, network, retries.steady) as launch, closing(launch.signal):
            done = subprocess.run(launch.argv, env=CLEAN, cwd="/", pass_fds=launch.descriptors, check=False)
            if launch.signal.begun():
                return done.returncode
        click.echo("hermes: the sandbox could not be set up; the command has not begun", err=True)
        anyio.run(retries.again, "bubblewrap says why above")


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let a closed window and a plain kill end a command as Ctrl-C does."""

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    before = {one: signal.signal(one, end) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _opened(place: Here, mode: Mode) -> Iterator[_Opened]:
    with TemporaryDirectory(prefix="hermes-sandbox-") as folder:
        scratch = Path(folder)
        found = open_sandbox(
            workspace=place.cwd,
            home=place.user_home,
            hermes_home=place.home.root,
            scratch=scratch,
            environ=place.environ,
            sandboxing=replace(
                sandbox_options(place.settings[TerminalSettings]), mode=mode, bounds=_bounds(place)
            ),
        )
        try:
            yield _Opened(place, found, Scratch(root=scratch.resolve()).shell)
        finally:
            if found:
                found.close()


def _bounds(place: Here) -> Capabilities:
    return configured(place.settings[CapabilitySettings], cwd=place.cwd, home=place.user_home)


def _given(hosts: str) -> bool | tuple[str, ...]:
    """What `--network` says."""
    if hosts == "all":
        return True
    try:
        for host in hosts.split(","):
            entry(host)
    except ValueError as error:
        raise ConfigError(f"--network: {error}.") from error
    return tuple(hosts.split(","))


def _plain(place: Here, found: Sandbox | None) -> dict[str, object]:
    """What the status is, as one object."""
    terminal = place.settings[TerminalSettings]
    passed = _variables(place)
    told = (
        [msgspec.to_builtins(layer) for layer in layers(found, network=network_of(terminal))] if found else []
    )
    return {
        "v": 1,
        "works": found is not None,
        "why": "" if found else _why(place.environ),
        "setting": terminal.sandbox,
        "mode": terminal.sandbox_mode,
        "network": terminal.network,
        "program": found.program if found else "",
        "layers": told,
        "writable": list(found.paths("write")) if found else [],
        "readable": list(found.paths("read")) if found else [],
        "hidden": list(found.paths("hide")) if found else [],
        "closed": [one.path for one in _closed(place)] if found else [],
        "resources": msgspec.to_builtins(resources_in_force()),
        "variables": sorted(passed.given),
        "left_out": dict(sorted(passed.left.items())),
    }


def _status(place: Here, found: Sandbox | None) -> Iterator[str]:
    terminal, values = place.settings[TerminalSettings], place.loaded.values
    if found is None:
        yield f"✗ {_why(place.environ)}"
        yield (
            "  Without it nothing confines commands: those that could do harm ask first, all others run with"
            " your rights."
        )
        if terminal.sandbox == "on":
            yield (
                f"  terminal.sandbox is on ({values['terminal.sandbox'].origin}), so no command runs here at"
                " all."
            )
        yield from _passed(place)
        return
    if terminal.sandbox == "off":
        yield (
            f"! off by terminal.sandbox ({values['terminal.sandbox'].origin}); this is what hermes sandbox"
            " run gives"
        )
    else:
        yield "✓ every command is confined, unless a yes lets it out"
    yield f"  program    bubblewrap, {found.program}"
    yield f"  mode       {terminal.sandbox_mode} ({values['terminal.sandbox_mode'].origin})"
    yield from (_line(layer) for layer in layers(found, network=network_of(terminal)))
    yield from _paths(found)
    if closed := [one.path for one in _closed(place)]:
        yield from _listed("closed", tuple(closed))
        yield "             files of others, to commands whose text does not name the folder"
    yield f"  network    {_network(place)}"
    yield f"  resources  {resources_in_force()} in the control groups of Hermes, so for all it starts"
    yield from _passed(place)
    yield (
        "  not        reading the rest of your files; limits on memory, processor time and the whole of the"
        " disk"
    )
    yield "  not        file tools: they run in Hermes itself, which decides each path before it touches it"


def _closed(place: Here) -> tuple[OutsideFolder, ...]:
    """What is closed to commands that do not name it."""
    return outside_folders(place.user_home, place.cwd, place.settings[ApprovalSettings])


def _variables(place: Here) -> ChildEnvironment:
    return variables(place.home, place.settings[TerminalSettings], place.environ, place.cwd)


def _passed(place: Here) -> Iterator[str]:
    """Which of the user's variables commands get."""
    found = _variables(place)
    yield f"  variables  {len(found.given)} of yours pass, {len(found.left)} are left out; {ADD}"
    yield from (f"             {reason}: {names}" for reason, names in by_reason(found))


def _line(layer: Layer) -> str:
    return f"  {'✓' if layer.enforced else '!'} {layer.name:<10} {layer.what}"


def _paths(found: Sandbox) -> Iterator[str]:
    yield from _listed("writable", (path for path in found.paths("write") if path != INSIDE))
    if found.options.mode == "full":
        yield "  writable   all that you may write yourself, but what follows"
    else:
        yield "             /tmp and /var/tmp are a folder of the session's own; all else is read-only"
    yield from _listed("read-only", found.paths("read"))
    yield from _listed("hidden", found.paths("hide"))
    yield (
        "             those that exist of the places where credentials are kept, looked for anew for each"
        " command"
    )


def _listed(name: str, paths: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    for title, path in zip([name, *[""] * 999], paths, strict=False):
        yield f"  {title:<9}  {path}"


def _network(place: Here) -> str:
    origin = place.loaded.values["terminal.network"].origin
    match network_of(place.settings[TerminalSettings]):
        case True:
            return f"open, by terminal.network ({origin})"
        case (_, *_) as hosts:
            return (
                f"{', '.join(map(str, hosts))}, by terminal.network ({origin}); a command that needs more"
                " asks"
            )
        case _:
            return "none; a command that needs it asks, and a yes opens it"


def _why(environ: Mapping[str, str]) -> str:
    """One sentence: why there is no sandbox, and what helps."""
    if sys.platform != "linux":
        return "There is no sandbox here: it needs Linux."
    reason = why_none(environ, Path.cwd())
    if not reason:
        return f"There is no sandbox in {os.getcwd()}: bubblewrap works, but not with this directory's paths."  # noqa: PTH109
    return f"There is no sandbox here: {reason}; {INSTALL if 'not installed' in reason else ALLOW}."
