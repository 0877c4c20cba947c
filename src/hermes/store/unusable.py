"""Why a file of a store cannot be used now, in words: a full disk, or another fault."""

import errno
import sqlite3
from pathlib import Path
from typing import Final

from hermes.lib.free_room import free_bytes
from hermes.types.error import StoreError

LITTLE: Final = 1 << 20
"""Bytes below which a fault of the disk is taken for want of room: SQLite may name it a disk I/O error."""
_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT}


def unusable(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """The error for a file that a fault of the system or the database, and no damage, keeps from use."""
    if is_full(path, error):
        left = free_bytes(path) / 1e6
        return StoreError(
            f"{path} cannot be used now: its disk is full ({left:.1f} MB are left); make room there and try"
            " again."
        )
    why = error.strerror if isinstance(error, OSError) else error
    return StoreError(f"{path} cannot be used now ({why}); check the disk and its permissions.")


def is_full(path: Path, error: sqlite3.Error | OSError) -> bool:
    """Whether a fault comes from a disk without room."""
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    faults = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    return code == sqlite3.SQLITE_FULL or (code in faults and free_bytes(path) < LITTLE)
