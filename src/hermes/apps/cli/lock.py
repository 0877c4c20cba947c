"""`hermes lock`: what the agent of a folder is made of, written down, so that a change of it is seen."""

import sys
from pathlib import Path

import anyio
import click

from hermes.apps.cli import tables
from hermes.apps.cli.agent_lock import FILE, LockDrift, drifts, read_lock_file, write_lock
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.apps.cli.lock_state import locked_now
from hermes.lib.visible import visible
from hermes.types.error import ConfigError


@click.group()
def lock() -> None:
    """What the agent of this folder is made of: model, prompt, tools, skills, policy (agent.lock)."""


@lock.command()
@click.pass_obj
def write(choices: Choices) -> None:
    """Write agent.lock: what a session that begins here now would be made of."""
    path = _path(choices)
    write_lock(path, anyio.run(locked_now, choices))
    click.echo(f"{visible(str(path))} is written.", err=True)


@lock.command()
@tables.lists
@click.pass_obj
def show(choices: Choices) -> None:
    """What agent.lock has: names with hashes."""
    locked = read_lock_file(_path(choices)).locked
    rows = [
        (section, visible(name), item.sha256[:12])
        for section, items in sorted(locked.items())
        for name, item in sorted(items.items())
    ]
    tables.show(rows, head=("PART", "NAME", "SHA256"))


@lock.command()
@click.pass_obj
def check(choices: Choices) -> None:
    """Show what is not as agent.lock has it; the exit code is 1 where something is not."""
    found = _found(choices)
    for one in found:
        click.echo(visible(f"{one.how} {one.section}: {one.name}"))
        for line in one.diff.splitlines():
            click.echo(visible(f"  {line}"))
    if found:
        sys.exit(1)
    click.echo("All is as agent.lock has it.", err=True)


def refuse_drift(choices: Choices) -> None:
    """ConfigError where a session that begins now is not as agent.lock has it."""
    if choices.resume:
        raise ConfigError(
            "--locked goes with a new session: one that is resumed keeps the prompt and tools it began with."
        )
    if found := _found(choices):
        names = ", ".join(f"{one.section} {one.name}" for one in found[:4])
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        raise ConfigError(f"This agent is not as {FILE} has it: {names}{more}. hermes lock check shows it.")


def _found(choices: Choices) -> list[LockDrift]:
    before = read_lock_file(_path(choices))
    return list(drifts(before.locked, anyio.run(locked_now, choices).locked))


def _path(choices: Choices) -> Path:
    return here(choices).cwd / FILE
