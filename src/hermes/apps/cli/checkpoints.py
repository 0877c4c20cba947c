"""`hermes checkpoints`: what was saved before commands that delete or throw history away, and bringing it
back.
"""

import datetime as dt
from pathlib import Path

import click

from hermes.agent.undo import checkpoints_of
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here, to_change
from hermes.composition import SYSTEM_PORTS
from hermes.lib.visible import visible
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, Checkpoints


@click.group()
def checkpoints() -> None:
    """What was saved before commands that delete files or throw history away."""


@checkpoints.command("list")
@click.option("--here", "only_here", is_flag=True, help="Only those of commands in this directory.")
@click.pass_obj
def list_checkpoints(choices: Choices, *, only_here: bool) -> None:
    """All of them, the newest first."""
    found = [one for one in _kept(choices).newest() if not only_here or one.cwd == str(Path.cwd())]
    if not found:
        click.echo("Nothing was saved.", err=True)
        return
    tables.show([_row(one) for one in found], head=("CHECKPOINT", "SAVED", "SIZE", "BEFORE", "IN"))


@checkpoints.command()
@click.argument("checkpoint", default="latest")
@click.pass_obj
def show(choices: Choices, checkpoint: str) -> None:
    """The files of one: the beginning of its name, or latest."""
    kept = _kept(choices)
    found = kept.find(checkpoint)
    click.echo(f"{found.id}: {found.cwd}$ {visible(found.command)}")
    for path in kept.files(found):
        click.echo(f"  {path}")


@checkpoints.command()
@click.argument("checkpoint", default="latest")
@click.argument("paths", nargs=-1)
@click.pass_obj
def restore(choices: Choices, checkpoint: str, paths: tuple[str, ...]) -> None:
    """Bring back what was saved, all of it or PATHS; what is there now is saved first."""
    to_change(choices)
    kept = _kept(choices)
    done = kept.bring_back(
        kept.find(checkpoint),
        [str(Path(path).absolute()) for path in paths],
        now=SYSTEM_PORTS.now(),
        token=SYSTEM_PORTS.token(),
    )
    for path in done:
        click.echo(f"{path} is as it was.")


def _kept(choices: Choices) -> Checkpoints:
    place = here(choices)
    return checkpoints_of(place.home.root, place.settings[CheckpointSettings])


def _row(one: Checkpoint) -> tuple[str, ...]:
    saved = f"{dt.datetime.fromtimestamp(one.at, tz=dt.UTC).astimezone():%Y-%m-%d %H:%M}"
    return (one.id, saved, f"{one.size / 1e6:.1f} MB", visible(one.command), one.cwd)
