"""`hermes checkpoints`: what was saved before turns that changed files and before commands that delete or
throw history away, and bringing it back.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from hermes.agent.undo import checkpoints_of
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here, to_change
from hermes.apps.cli.redaction import redactor_for
from hermes.composition import SYSTEM_PORTS
from hermes.lib.repository import refs_of
from hermes.lib.visible import visible
from hermes.present.rollback import told
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.store.rollback import changed_since, roll_back

_SHORT: Final = 8


@click.group()
def checkpoints() -> None:
    """What was saved before turns that changed files, and before commands that delete or rewrite history."""


@checkpoints.command("list")
@tables.lists
@click.option("--here", "only_here", is_flag=True, help="Only those of the workspace of this directory.")
@click.pass_obj
def list_checkpoints(choices: Choices, *, only_here: bool) -> None:
    """All of them, the newest first."""
    kept = _kept(choices)
    for name in kept.damaged():
        click.echo(f"{visible(name)} is damaged and cannot be brought back.", err=True)
    found = [one for one in kept.newest() if not only_here or one.is_about(str(Path.cwd()))]
    if not found:
        click.echo("Nothing was saved.", err=True)
        return
    redact = redactor_for(choices, Path.cwd()).redact
    tables.show(
        [_row(one, redact(one.command)) for one in found],
        head=("CHECKPOINT", "SAVED", "SIZE", "BEFORE", "IN"),
    )


@checkpoints.command()
@click.argument("checkpoint", default="latest")
@click.option("--file", metavar="PATH", help="Write what was saved of this file to standard output.")
@click.pass_obj
def show(choices: Choices, checkpoint: str, file: str | None) -> None:
    """The files of one: the beginning of its name, or latest."""
    kept = _kept(choices)
    found = kept.find(checkpoint, str(Path.cwd()))
    if file is not None:
        click.echo(kept.content(found, _absolute(file)), nl=False)
        return
    command = redactor_for(choices, Path(found.cwd)).redact(found.command)
    click.echo(f"{found.id}: {_one_line(found.cwd)}$ {visible(command)}")
    for line in _folded(list(kept.files(found))):
        click.echo(f"  {line}")
    for path, why in kept.left_out(found):
        click.echo(f"  left out: {_one_line(path)} ({why})")


@checkpoints.command()
@click.argument("checkpoint", default="latest")
@click.pass_obj
def diff(choices: Choices, checkpoint: str) -> None:
    """What has changed in the workspace since before a turn."""
    kept = _kept(choices)
    found = _of_turn(kept.find(checkpoint, str(Path.cwd())))
    redact = redactor_for(choices, Path(found.workspace)).redact_file
    click.echo_via_pager(f"{line}\n" for line in changed_since(kept, found, redact))


@checkpoints.command()
@click.argument("checkpoint", default="latest")
@click.argument("paths", nargs=-1)
@click.option("--force", is_flag=True, help="Also over what was changed since by somebody else; it is saved.")
@click.pass_obj
def restore(choices: Choices, checkpoint: str, paths: tuple[str, ...], *, force: bool) -> None:
    """Bring back what was saved, all of it or PATHS; what is there now is saved first."""
    to_change(choices)
    kept, token = _kept(choices), SYSTEM_PORTS.token()
    found = kept.find(checkpoint, str(Path.cwd()))
    if found.tree:
        _roll_back(kept, found, paths, token, force=force)
        return
    before = _refs(found)
    chosen = [_absolute(path) for path in paths]
    done = kept.bring_back(found, chosen, now=SYSTEM_PORTS.now(), token=token)
    for path in done.paths:
        click.echo(f"{_one_line(path)} is as it was.")
    for line in _moved(before, _refs(found)):
        click.echo(line)
    for path in done.kept_back:
        saved = kept.place(found, path)
        click.echo(f"{_one_line(path)} was not put back, for it would run something; it is in {saved}.")
    if token in {one.id for one in kept.newest()}:
        click.echo(f"`hermes checkpoints restore {token}` takes this back.")


def _roll_back(
    kept: CheckpointStore, found: Checkpoint, paths: tuple[str, ...], token: str, *, force: bool
) -> None:
    """Bring the files of a workspace back to before a turn."""
    about = replace(
        found,
        id=token,
        at=SYSTEM_PORTS.now(),
        command=f"hermes checkpoints restore {found.id}",
        message="",
        after="",
    )
    chosen = [os.path.relpath(_absolute(path), found.workspace) for path in paths]
    click.echo(f"In {_one_line(found.workspace)}:")
    click.echo(told(roll_back(kept, found, about, force=force, paths=chosen), "--force"))


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  # no link of it is followed


def _of_turn(found: Checkpoint) -> Checkpoint:
    if not found.tree:
        raise click.UsageError(f"{found.id} is of a command; `hermes checkpoints show` lists its files.")
    return found


def _refs(found: Checkpoint) -> dict[str, str]:
    return refs_of(Path(found.workspace, ".git"))


def _moved(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """What has become of branches and tags."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, "none")[:_SHORT], after.get(name, "none")[:_SHORT]
        if old != new:
            yield f"{_one_line(name)}: {old} → {new}"


def _folded(paths: Iterable[str]) -> Iterator[str]:
    """The paths, with one line for all that is in one folder of git."""
    inside = Counter(f"{path.partition('/.git/')[0]}/.git" for path in paths if "/.git/" in path)
    for path in paths:
        if "/.git/" not in path:
            yield _one_line(path)
    for folder, number in inside.items():
        yield f"{_one_line(folder)} ({number} files)"


def _one_line(path: str) -> str:
    return visible(path).replace("\n", "⟨U+000A⟩")


def _kept(choices: Choices) -> CheckpointStore:
    place = here(choices)
    return checkpoints_of(place.home.root, place.settings[CheckpointSettings], place.user_home)


def _row(one: Checkpoint, command: str) -> tuple[str, ...]:
    return (one.id, tables.moment(one.at), f"{one.size / 1e6:.1f} MB", visible(command), _one_line(one.cwd))
