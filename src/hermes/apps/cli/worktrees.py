"""`hermes -w`: a session in a git worktree of its own; `hermes worktrees`: what they have left."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import anyio
import click
from msgspec.structs import replace

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, here
from hermes.composition import SYSTEM_PORTS
from hermes.config.home import Home
from hermes.environments.settings import TerminalSettings
from hermes.environments.worktrees import Worktree, Worktrees, WorktreeState
from hermes.lib.visible import visible
from hermes.store.sqlite_store import open_store
from hermes.types.error import ConfigError, HermesError


def work_in(choices: Choices, run: Callable[[Choices], int]) -> int:
    """Run in a new worktree and give the exit code; in the end one with nothing new in it is removed."""
    if choices.resume:
        raise click.UsageError("-w begins a new session; one that is resumed works where it worked before.")
    at = here(choices)
    if at.settings[TerminalSettings].backend != "local":
        raise ConfigError("-w makes worktrees on this machine; terminal.backend names another place.")
    found = Worktrees(at.cwd, at.environ)
    made = found.make(_name() if choices.worktree == "?" else choices.worktree)
    _tell(f"working in {made.path}, on the branch {made.branch}")
    try:
        for note in found.notes(made):
            _tell(note)
        os.chdir(made.path)
        return run(replace(choices, worktree=made.name))
    finally:
        os.chdir(at.cwd)
        _end(found, made)


def _name() -> str:
    day = datetime.fromtimestamp(SYSTEM_PORTS.now(), tz=UTC)
    return f"{day:%m%d-%H%M}-{SYSTEM_PORTS.token()[:6]}"


def _end(found: Worktrees, made: Worktree) -> None:
    """Remove it, or say what is in it and how to get that; a fault is told and leaves it."""
    try:
        state = found.state(made)
        if state.is_empty:
            found.remove(made)
            _tell(f"{made.path} had nothing new and was removed")
            return
        _tell(f"kept {made.path}: {_told(state)}")
        how = f"git merge {made.branch}" if state.commits else f"cd {made.path}"
        _tell(f"{how} takes it over, hermes worktrees remove {made.name} removes it")
    except HermesError as error:
        _tell(str(error))


def _told(state: WorktreeState) -> str:
    counted = ((state.commits, "commit"), (state.files, "file that is not committed"))
    words = [f"{count} {_many(count, name)}" for count, name in counted if count]
    return ", ".join(words) or "nothing new"


def _in(found: Worktrees, worktree: Worktree) -> str:
    """What is only there, for a list, which one that is damaged does not end."""
    try:
        return _told(found.state(worktree))
    except HermesError:
        return "cannot be told"


def _many(count: int, name: str) -> str:
    return name if count == 1 else {"commit": "commits"}.get(name, "files that are not committed")


def _tell(sentence: str) -> None:
    click.echo(f"hermes: {visible(sentence)}", err=True)


@click.group()
def worktrees() -> None:
    """The git worktrees that sessions of this repository have left (`hermes -w`)."""


@worktrees.command("list")
@click.pass_obj
def list_worktrees(choices: Choices) -> None:
    """All of them, with what is in them and nowhere else."""
    found = _of(here(choices))
    rows = [(one.name, one.branch, _in(found, one), str(one.path)) for one in found.all()]
    if not rows:
        click.echo("This repository has no worktrees of sessions.", err=True)
        return
    tables.show(rows, head=("NAME", "BRANCH", "ONLY THERE", "FOLDER"))


@worktrees.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Also where commits or files are lost with it.")
@click.pass_obj
def remove(choices: Choices, name: str, *, force: bool) -> None:
    """Remove one with its branch, unless something is in it and nowhere else, or a session works in it."""
    at = here(choices)
    found = _of(at)
    chosen = next((one for one in found.all() if one.name == name), None)
    if chosen is None:
        raise HermesError(f"There is no worktree {name!r}; hermes worktrees list shows what there is.")
    if user := anyio.run(partial(_user_of, at.home, chosen)):
        raise HermesError(f"Session {user} works in {chosen.path}; end it first.")
    if not force and not (state := found.state(chosen)).is_empty:
        raise HermesError(f"{chosen.path} has {_told(state)}; --force removes them with it.")
    found.remove(chosen)
    click.echo(f"Removed {chosen.path} and the branch {chosen.branch}.")


async def _user_of(home: Home, worktree: Worktree) -> str:
    """The id of a session that a living process has open there; "" without one."""
    async with open_store(home.sessions_db, home.search_db) as store:
        for row in await store.recent(limit=100, cwd=str(worktree.path)):
            if await store.owner_of(row.id):
                return row.id
    return ""


def _of(at: Here) -> Worktrees:
    return Worktrees(at.cwd, at.environ)
