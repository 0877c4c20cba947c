"""Remove what sessions left on disk long ago: shell states, uncut outputs, long results, their /tmp."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from hermes.lib.beneath import FOLDER, held
from hermes.lib.removal import remove_tree
from hermes.lib.session_ids import is_session_id
from hermes.lib.walk import walk
from hermes.store.protocol import SessionStore
from hermes.types.error import StoreError

DAY = 86_400.0


async def prune(store: SessionStore, folders: Sequence[Path], *, before: float) -> None:
    """Remove the entries of `folders` that were last changed before `before`, in epoch seconds.

    The folder of a session that somebody has open stays; long results go by their age alone. What cannot be
    removed stays, too.
    """
    with suppress(StoreError):
        for path in await anyio.to_thread.run_sync(lambda: list(_unused_since(folders, before))):
            if await _is_free(store, path.name):
                await anyio.to_thread.run_sync(_remove, path)


async def empty_temp(store: SessionStore, scratch: Path, *, before: float) -> None:
    """Remove what commands left in the /tmp of sessions that nobody has open and in which no command has run
    since `before`, in epoch seconds, as a machine does when it starts. The folders themselves stay.
    """
    with suppress(StoreError):
        for folder in await anyio.to_thread.run_sync(lambda: list(_idle_since(scratch, before))):
            if await _is_free(store, folder.name):
                await anyio.to_thread.run_sync(_empty, folder / "tmp")


async def _is_free(store: SessionStore, name: str) -> bool:
    """Whether nobody has the session of this name; what is no name of a session is nobody's."""
    return not is_session_id(name) or await store.owner_of(name) is None


def _idle_since(scratch: Path, before: float) -> Iterator[Path]:
    """The folders of sessions with something in their /tmp; each command makes and removes a shell state."""
    with suppress(OSError):
        for folder in scratch.iterdir():
            with suppress(OSError):
                parts = (folder, folder / "tmp", folder / "shell" / "confined", folder / "shell" / "open")
                idle = all(part.lstat().st_mtime < before for part in parts if part.exists())
                if idle and not folder.is_symlink() and any(_entries(folder / "tmp")):
                    yield folder


def _entries(folder: Path) -> list[Path]:
    return [] if folder.is_symlink() else list(folder.iterdir())


def _empty(folder: Path) -> None:
    with suppress(OSError):
        for path in _entries(folder):
            _remove(path)


def _unused_since(folders: Sequence[Path], before: float) -> Iterator[Path]:
    for folder in folders:
        with suppress(OSError):
            yield from (path for path in folder.iterdir() if _last_change(path) < before)


def _last_change(path: Path) -> float:
    """When an entry or anything in it changed; now, so to say, when that cannot be told."""
    try:
        inner = walk(str(path)) if path.is_dir() and not path.is_symlink() else ()
        there = (f"{at}/{name}" for at, *names in inner for name in (*names[0], *names[1]))
        return max(os.lstat(one).st_mtime for one in (str(path), *there))
    except OSError:
        return float("inf")


def _remove(path: Path) -> None:
    with suppress(OSError), held(os.open(path.parent, FOLDER)) as above:
        remove_tree(above, path.name)
