"""Remove what sessions left on disk long ago: shell states, uncut outputs, long results."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

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
            if await store.owner_of(path.name) is None:
                await anyio.to_thread.run_sync(_remove, path)


def _unused_since(folders: Sequence[Path], before: float) -> Iterator[Path]:
    for folder in folders:
        with suppress(OSError):
            yield from (path for path in folder.iterdir() if _last_change(path) < before)


def _last_change(path: Path) -> float:
    """When an entry or anything in it changed; now, so to say, when that cannot be told."""
    try:
        inner = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
        return max((one.lstat().st_mtime for one in (path, *inner)), default=0.0)
    except OSError:
        return float("inf")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
