"""`hermes store`: check, back up, restore and repair what sessions are kept in."""

import datetime as dt
import sys
from pathlib import Path

import click
import msgspec

from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.store.backup import backup as backed_up
from hermes.store.backup import restore as restored
from hermes.store.check import StoreCheck
from hermes.store.check import check as checked
from hermes.store.repair import repair as repaired

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object.")
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def store() -> None:
    """The file that sessions are kept in."""


@store.command()
@click.option("--full", is_flag=True, help="Indexes and every message too; reads all of the file.")
@_JSON
@click.pass_obj
def check(choices: Choices, *, full: bool, as_json: bool) -> None:
    """Look it over, and change nothing. Exit code 0 all well, 1 damaged or not to be read."""
    found = checked(locate(environment(), choices.profile).sessions_db, full=full)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        if found.schema:  # else nothing could be counted
            click.echo(f"{found.path}: {_count(found.sessions, found.messages)}, schema {found.schema}")
        for fault in (*found.faults, *found.unreadable):
            click.echo(f"✗ {fault}")
        click.echo(_verdict(found))
    sys.exit(1 if found.faults or found.unreadable else 0)


@store.command()
@click.argument("file", type=_FILE, required=False)
@_JSON
@click.pass_obj
def backup(choices: Choices, file: Path | None, *, as_json: bool) -> None:
    """Copy it to FILE (a dated one in the home's folder backups), also while Hermes works, and verify the
    copy.
    """
    home = locate(environment(), choices.profile)
    stamp = f"{dt.datetime.fromtimestamp(SYSTEM_PORTS.now(), tz=dt.UTC).astimezone():%Y%m%d-%H%M%S}"
    made = backed_up(home.sessions_db, file or home.backups / f"sessions-{stamp}.db")
    if as_json:
        click.echo(msgspec.json.encode(made))
    else:
        click.echo(f"{made.path}: {_count(made.sessions, made.messages)}, verified.")


@store.command()
@click.argument("file", type=_FILE)
@_JSON
@click.pass_obj
def restore(choices: Choices, file: Path, *, as_json: bool) -> None:
    """Bring back a copy, once it is verified; the store that is there is kept beside it. Refused while any
    process has it open.
    """
    home = to_change(choices)
    found, kept = restored(home.sessions_db, home.search_db, file, SYSTEM_PORTS.now())
    if as_json:
        click.echo(msgspec.json.encode({**msgspec.to_builtins(found), "kept": str(kept or "")}))
    else:
        click.echo(f"{found.path}: {_count(found.sessions, found.messages)}, from {file}.")
        if kept:
            click.echo(f"What was there is {kept}.")


@store.command()
@_JSON
@click.pass_obj
def repair(choices: Choices, *, as_json: bool) -> None:
    """Write what can be read of it into a new one, and build its index; the damaged one is kept. Refused
    while any process has it open. Exit code 0 nothing is lost, 1 something is.
    """
    home = to_change(choices)
    done = repaired(home.sessions_db, home.search_db, SYSTEM_PORTS.now())
    if as_json:
        click.echo(msgspec.json.encode(done))
    else:
        click.echo(f"{home.sessions_db}: {_count(done.sessions, done.messages)} could be read.")
        click.echo(f"What was there is {done.kept}.")
        for words in done.lost:
            click.echo(f"lost: {words}")
        click.echo(
            "Nothing is lost."
            if not done.lost
            else "A backup may have what is lost: hermes store restore FILE."
        )
    sys.exit(1 if done.lost else 0)


def _verdict(found: StoreCheck) -> str:
    if found.faults:
        return (
            "It is damaged: hermes store repair brings over what can be read, hermes store restore FILE"
            " brings back a backup."
        )
    return "The file is whole; a backup may have what cannot be read." if found.unreadable else "✓ ok"


def _count(sessions: int, messages: int) -> str:
    return f"{sessions:,} {'session' if sessions == 1 else 'sessions'}, {messages:,} messages"
