"""`hermes sandbox`: what confines commands on this machine, and running one confined."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from hermes.apps.cli.choices import Choices
from hermes.apps.cli.here import Here, here
from hermes.environments.local_workspace import Scratch, open_sandbox
from hermes.environments.sandbox import CLEAN, INSIDE, Sandbox, why_none
from hermes.environments.scrub import scrubbed
from hermes.environments.shell import FileCarrier, Shell
from hermes.environments.workspace import QUIET
from hermes.types.error import ConfigError

INSTALL: Final = "install it with: apt install bubblewrap (or your system's way), or: pip install 'hermes-agent[sandbox]'"

ALLOW: Final = "the kernel must let you make user namespaces (sysctl kernel.unprivileged_userns_clone, or the AppArmor profile of bwrap)"


@click.group()
def sandbox() -> None:
    """What confines commands on this machine."""


@sandbox.command()
@click.pass_obj
def status(choices: Choices) -> None:
    """What is enforced here, and what is not."""
    place = here(choices)
    with _opened(place) as opened:
        for line in _status(place, opened.sandbox):
            click.echo(line)


@sandbox.command(context_settings={"allow_interspersed_args": False})
@click.option("--network", is_flag=True, help="With the network.")
@click.argument("command", nargs=-1, required=True)
@click.pass_obj
def run(choices: Choices, command: tuple[str, ...], *, network: bool) -> None:
    """Run a command confined as the agent's commands are.

    COMMAND is a command line as one argument, or its words. It can read standard input; its exit code is passed on.
    """
    place = here(choices)
    with _opened(place) as opened:
        if opened.sandbox is None:
            raise ConfigError(_why(place.environ))
        text = command[0] if len(command) == 1 else shlex.join(command)
        argv = opened.wrapped(opened.sandbox, text, network=network or place.settings.terminal.network)
        code = subprocess.run(argv, env=CLEAN, cwd="/", check=False).returncode
    sys.exit(128 - code if code < 0 else code)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A sandbox for this directory, or None, with the folders that it needs."""

    place: Here
    sandbox: Sandbox | None
    folder: Path

    def wrapped(self, confining: Sandbox, command: str, *, network: bool) -> tuple[str, ...]:
        """The argv that runs a command line as a session's first command would run."""
        env = {**QUIET, **scrubbed(self.place.environ, self.place.settings.terminal.env_passthrough)}
        shell = Shell(cwd=str(self.place.cwd), env=env, carrier=FileCarrier(self.folder, INSIDE), guarded=True)
        start = shell.prepare(command, confined=True, carry=False)
        return confining.wrap(start.argv, env=start.env, network=network)


@contextmanager
def _opened(place: Here) -> Iterator[_Opened]:
    with TemporaryDirectory(prefix="hermes-sandbox-") as folder:
        scratch = Path(folder)
        found = open_sandbox(workspace=place.cwd, home=place.user_home, hermes_home=place.home.root, scratch=scratch, environ=place.environ)
        yield _Opened(place, found, Scratch(root=scratch.resolve()).shell)


def _status(place: Here, found: Sandbox | None) -> Iterator[str]:
    terminal, values = place.settings.terminal, place.loaded.values
    if found is None:
        yield f"✗ {_why(place.environ)}"
        yield "  Without it nothing confines commands: those that could do harm ask first, all others run with your rights."
        if terminal.sandbox == "on":
            yield f"  terminal.sandbox is on ({values['terminal.sandbox'].origin}), so no command runs here at all."
        return
    if terminal.sandbox == "off":
        yield f"! off by terminal.sandbox ({values['terminal.sandbox'].origin}); this is what hermes sandbox run gives"
    else:
        yield "✓ every command is confined, unless a yes lets it out"
    yield f"  program    bubblewrap, {found.program}"
    yield from _paths(found)
    yield f"  network    {_network(place)}"
    yield "  processes  its own; it sees no others, cannot signal them, and all end with it"
    yield "  variables  yours, without secrets"
    yield "  not        reading the rest of your files; limits on memory, processor time and disk; a filter of kernel calls"
    yield "  not        file tools: they run in Hermes itself, which decides each path before it touches it"


def _paths(found: Sandbox) -> Iterator[str]:
    yield from _listed("writable", (path for path in found.paths("write") if path != INSIDE))
    yield "             /tmp and /var/tmp are a folder of the session's own; all else is read-only"
    yield from _listed("read-only", found.paths("read"))
    yield from _listed("hidden", found.paths("hide"))
    yield "             those that exist of the places where credentials are kept, looked for anew for each command"


def _listed(name: str, paths: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    for title, path in zip([name, *[""] * 99], paths, strict=False):
        yield f"  {title:<9}  {path}"


def _network(place: Here) -> str:
    if place.settings.terminal.network:
        return f"open, by terminal.network ({place.loaded.values['terminal.network'].origin})"
    return "none; a command that needs it asks, and a yes opens it"


def _why(environ: Mapping[str, str]) -> str:
    """One sentence: why there is no sandbox, and what helps."""
    if sys.platform != "linux":
        return "There is no sandbox here: it needs Linux."
    reason = why_none(environ)
    if not reason:
        return f"There is no sandbox in {os.getcwd()}: bubblewrap works here, but not with the paths of this directory."  # noqa: PTH109
    return f"There is no sandbox here: {reason}; {INSTALL if 'not installed' in reason else ALLOW}."
