"""`hermes -w`: a session in a worktree of its own; `hermes worktrees`: what they have left."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
from msgspec.structs import asdict, replace

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, here
from hermes.apps.cli.worktree_sessions import elsewhere, last_in, told
from hermes.composition import SYSTEM_PORTS
from hermes.config.home import Home
from hermes.environments.settings import TerminalSettings
from hermes.environments.worktree_copy import tip
from hermes.environments.worktree_records import Worktree, WorktreeRecords
from hermes.environments.worktrees import Worktrees, WorktreeState
from hermes.lib.visible import visible
from hermes.store.owners import owners_of
from hermes.store.protocol import SessionRow
from hermes.types.error import ConfigError, HermesError, StoreError


def work_in(choices: Choices, run: Callable[[Choices], int]) -> int:
    """Run in a new worktree and give the exit code; in the end one with nothing new in it is removed."""
    if choices.resume:
        raise click.UsageError("-w begins a new session; one that is resumed works where it worked before.")
    at = here(choices)
    if at.settings[TerminalSettings].backend != "local":
        raise ConfigError("-w makes worktrees on this machine; terminal.backend names another place.")
    found = _of(at)
    made = found.make(_name() if choices.worktree == "?" else choices.worktree)
    _tell(f"working in {made.path}, on the branch {made.branch}")
    try:
        for note in found.notes():
            _tell(note)
        os.chdir(made.path)
        return run(replace(choices, worktree=made.name))
    finally:
        os.chdir(at.cwd)
        _end(found, made, at.home)


def work_on(choices: Choices, run: Callable[[Choices], int]) -> int:
    """Run where there are worktrees, and give the exit code: a session that is resumed may work in one.

    Commits that are left there are taken over before, those of the session after it.
    """
    at = here(choices)
    if choices.resume in {"latest", "last"}:
        _tell_of_another(at)
    for one in WorktreeRecords(at.home.root).all():
        if choices.resume and tip(one) not in {"", one.base, one.taken}:
            with suppress(HermesError):  # hermes worktrees list says it
                _of(at, one).take_over(one)
    before = {one.path: tip(one) for one in WorktreeRecords(at.home.root).all()}
    try:
        return run(choices)
    finally:
        for one in WorktreeRecords(at.home.root).all():
            if before.get(one.path) not in {None, tip(one)} and not _user_of(at.home, one):
                _after(at, one)


def _tell_of_another(at: Here) -> None:
    """Say so where the last session of the repository worked in a worktree: it does not go on here."""
    words = ""
    with suppress(StoreError):  # who opens it says it
        words = elsewhere(at.home, at.cwd, WorktreeRecords(at.home.root).all())
    if words:
        _tell(words)


def _after(at: Here, worktree: Worktree) -> None:
    """Take over what a session that was resumed has committed; a fault is told."""
    try:
        state = _of(at, worktree).take_over(worktree)
        _tell(f"{worktree.branch} in {worktree.main}: {_told(state)}")
        if state.left:
            _tell(_LEFT.format(state.left))
    except HermesError as error:
        _tell(str(error))


def _name() -> str:
    day = datetime.fromtimestamp(SYSTEM_PORTS.now(), tz=UTC)
    return f"{day:%m%d-%H%M}-{SYSTEM_PORTS.token()[:6]}"


def _end(found: Worktrees, made: Worktree, home: Home) -> None:
    """Remove it, or say what is in it and how to get that; a fault is told and leaves it."""
    try:
        state, user = found.take_over(made), _user_of(home, made)
        if state.is_empty and not user:
            found.remove(made)
            _tell(f"{made.path} had nothing new and was removed")
            return
        _tell(f"kept {made.path}: {_told(state)}{f', and session {user} works in it' if user else ''}")
        if state.left:
            _tell(_LEFT.format(state.left))
        if how := _how(made, state):
            _tell(how)
    except HermesError as error:
        _tell(f"{error} It was kept.")


def _how(worktree: Worktree, state: WorktreeState) -> str:
    """What brings its commits into the branch that one is on, and what removes it."""
    remove, merge = f"hermes worktrees remove {worktree.name}", f"git merge {worktree.branch}"
    if state.is_empty:
        return ""
    if state.commits and not (state.left or state.strays or state.branches or state.files):
        return f"{merge} takes over what it has, then {remove} removes it"
    plain = [name for name in state.branches if _PLAIN.fullmatch(name)][:_NAMED] or ["BRANCH"]
    fetch = f"git fetch {shlex.quote(str(worktree.path))} {' '.join(f'{name}:{name}' for name in plain)}"
    takes = [f"{merge} takes the commits over"] if state.commits and not state.left else []
    takes += [f"{fetch} takes over other branches"] if state.branches else []
    return ", ".join([*takes, f"{remove} --force removes it with {'the rest' if takes else 'them'}"])


_NAMED = 3
_PLAIN = re.compile(r"\w[\w./-]*", re.ASCII)  # a command was to make the names: none becomes an option
_LEFT = "its commits were not taken over: {}"
_COUNTED = (
    ("commits", "commit", "commits"),
    ("strays", "commit outside its branch", "commits outside its branch"),
    ("branches", "other branch", "other branches"),
    ("files", "file that is not committed", "files that are not committed"),
)


def _told(state: WorktreeState) -> str:
    counts = {**asdict(state), "branches": len(state.branches)}
    words = [
        f"{count} {one if count == 1 else many}" for name, one, many in _COUNTED if (count := counts[name])
    ]
    return ", ".join(words) or "nothing new"


def _sessions(home: Home, worktrees: list[Worktree]) -> dict[Path, SessionRow]:
    """The last session of each, as far as the store tells."""
    try:
        return last_in(home, [one.path for one in worktrees])
    except StoreError as error:
        _tell(str(error))
        return {}


def _in(found: Worktrees, worktree: Worktree) -> str:
    """What is only there, for a list, which one that is damaged does not end."""
    try:
        state = found.take_over(worktree)
    except HermesError as error:
        _tell(str(error))
        return "cannot be told"
    if state.left:
        _tell(f"{worktree.name}: {_LEFT.format(state.left)}")
    return _told(state)


def _tell(sentence: str) -> None:
    click.echo(f"hermes: {visible(sentence)}", err=True)


@click.group()
def worktrees() -> None:
    """The worktrees that sessions of this repository have left (`hermes -w`)."""


@worktrees.command("list")
@tables.lists
@click.pass_obj
def list_worktrees(choices: Choices) -> None:
    """All of them, with what is in them and on no other branch, and the session that last worked there;
    their commits are taken over.
    """
    at = here(choices)
    found = _of(at)
    sessions = _sessions(at.home, found.all())
    rows = [
        (one.name, one.branch, _in(found, one), visible(str(one.path)), told(sessions.get(one.path)))
        for one in found.all()
    ]
    damaged = found.damaged()
    if rows:
        tables.show(rows, head=("NAME", "BRANCH", "ONLY THERE", "FOLDER", "SESSION"))
    elif not damaged:
        click.echo("This repository has no worktrees of sessions.", err=True)
    for damage in damaged:
        _tell(str(damage))
    if damaged:
        sys.exit(1)


@worktrees.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Also where commits or files are lost with one.")
@click.pass_obj
def remove(choices: Choices, names: tuple[str, ...], *, force: bool) -> None:
    """Remove each with its branch, unless something is in it and nowhere else, or a session works in it.

    One that stays keeps no other from being removed.
    """
    at = here(choices)
    stayed = False
    for name in dict.fromkeys(names):
        try:
            _remove(at, name, force=force)
        except HermesError as error:
            stayed = True
            _tell(str(error))
    if stayed:
        sys.exit(1)


def _remove(at: Here, name: str, *, force: bool) -> None:
    found = _of(at)
    chosen = found.named(name)
    if at.cwd.is_relative_to(chosen.path):
        raise HermesError(f"You are in {chosen.path}; change to {found.main} first.")
    if user := _user_of(at.home, chosen):
        raise HermesError(f"Session {user} works in {chosen.path}; end it first.")
    if not force:
        _refuse_loss(found, chosen)
    stays = found.remove(chosen)
    branch = f"; the branch {chosen.branch} stays: {stays}." if stays else f" and the branch {chosen.branch}."
    click.echo(f"Removed {visible(str(chosen.path))}{visible(branch)}")


def _refuse_loss(found: Worktrees, chosen: Worktree) -> None:
    try:
        state = found.take_over(chosen)
    except HermesError as error:
        raise HermesError(f"{error} --force removes it all the same.") from error
    if not state.is_empty:
        raise HermesError(f"{chosen.path} has {_told(state)}; --force removes it with that.")


def _user_of(home: Home, worktree: Worktree) -> str:
    """The id of a session that a living process has open there or below; "" without one."""
    return owners_of(home.sessions_db).at_work_in(worktree.path)


def _of(at: Here, worktree: Worktree | None = None) -> Worktrees:
    return Worktrees(worktree.path if worktree else at.cwd, at.environ, at.home.root)
