"""A file that was a store and has lost what was in it: damage, and never a new store (invariant 5)."""

from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from hermes.lib.sqlite import objects, schema_of
from hermes.store.owners import owners_folder
from hermes.store.presence import is_open
from hermes.store.reading import reading
from hermes.types.error import StorageDamaged, StoreError

EMPTIED: Final = (
    "{} has lost all that was in it, and sessions were kept in it: the file was emptied, or its write-ahead"
    " log ({}-wal) is gone. Restore it from a backup, or remove it to begin anew."
)
_MAKING: Final = 0.2
"""Seconds between two looks at a file that another process may be making."""
_LOOKS: Final = 10


async def refuse_emptied(path: Path) -> None:
    """StorageDamaged where nothing is left of a store; nothing is changed."""
    for _ in range(_LOOKS):
        if not await anyio.to_thread.run_sync(_is_emptied, path):
            return
        if not await anyio.to_thread.run_sync(is_open, path):
            break
        await anyio.sleep(_MAKING)
    raise StorageDamaged(EMPTIED.format(path, path.name))


def _is_emptied(path: Path) -> bool:
    """Whether sessions were open in a file that has no table, in its log neither. The tables of a young store
    are in the log alone, so that one without them has lost it.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    if not owners_folder(path).is_dir():
        return False
    return not size or (not schema_of(path) and _has_no_table(path))


def _has_no_table(path: Path) -> bool:
    try:
        with reading(path) as rows:
            return not objects(rows)
    except StoreError:  # whoever opens it tells what that is
        return False
