"""Which sessions worked in worktrees: for the list of these, and for whoever goes on where they were made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from hermes.agent.title import title_of
from hermes.config.home import Home
from hermes.environments.worktree_records import Worktree
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store

WORKED_THERE: Final = (
    "the last session here worked in the worktree {} ({}): hermes -r {} goes on with it there"
)
OTHERS: Final = "; so did others in {}: hermes worktrees list names their sessions"


def last_in(home: Home, folders: Sequence[Path]) -> dict[Path, SessionRow]:
    """The session last used in each of the folders, where there is one; StoreError where none can be read."""

    async def read() -> dict[Path, SessionRow]:
        async with open_store(home.sessions_db, home.search_db) as store:
            rows = {folder: await store.recent(limit=1, cwd=str(folder)) for folder in folders}
        return {folder: found[0] for folder, found in rows.items() if found}

    return anyio.run(read) if folders and home.sessions_db.is_file() else {}


def told(row: SessionRow | None) -> str:
    """A session in a list: its id, and its title or what was said first."""
    return f"{row.id} {row.title or title_of(row.first_text)}" if row else ""


def elsewhere(home: Home, cwd: Path, worktrees: Sequence[Worktree]) -> str:
    """Where the last sessions worked, if they did so in worktrees of the repository in `cwd` and not there;
    "" otherwise.
    """
    near = {one.path: one for one in worktrees if cwd.is_relative_to(one.main)}
    found = last_in(home, [cwd, *near]) if near else {}
    ordered = sorted(found, key=lambda folder: found[folder].updated, reverse=True)
    later = ordered[: ordered.index(cwd)] if cwd in ordered else ordered
    if not later:
        return ""
    last, others = later[0], ", ".join(near[one].name for one in later[1:])
    row = found[last]
    words = WORKED_THERE.format(near[last].name, row.title or title_of(row.first_text), row.id)
    return words + (OTHERS.format(others) if others else "")
