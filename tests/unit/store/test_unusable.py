"""A full disk is called that, whatever words the system or SQLite have for it, and no other fault is."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes.store.database import Database
from hermes.store.unusable import unusable
from hermes.types.error import StoreError

NO_ROOM = Path("/proc/hermes/sessions.db")
"""A file on a disk on which no byte is left."""


def database_fault(code: int, words: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


IO_FAULT = database_fault(sqlite3.SQLITE_IOERR | 19 << 8, "disk I/O error")
FULL = "{} cannot be used now: its disk is full ({:.1f} MB are left); make room there and try again."
OTHER = "{} cannot be used now ({}); check the disk and its permissions."


def test_a_fault_of_a_disk_without_room_is_called_a_full_disk() -> None:
    locked = database_fault(sqlite3.SQLITE_BUSY, "database is locked")
    system = OSError(errno.EACCES, os.strerror(errno.EACCES))
    said = [str(unusable(NO_ROOM, error)) for error in (IO_FAULT, locked, system)]
    assert said == [
        FULL.format(NO_ROOM, 0.0),
        OTHER.format(NO_ROOM, "database is locked"),
        OTHER.format(NO_ROOM, "Permission denied"),
    ]


def test_a_fault_of_a_disk_with_room_is_called_full_only_where_the_system_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    assert str(unusable(path, IO_FAULT)) == OTHER.format(path, "disk I/O error")
    said = str(unusable(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert "its disk is full (" in said


def test_a_write_that_found_no_room_says_that_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(Database(path, "sessions")) as database:
        pages = database.rows.execute("PRAGMA page_count").fetchone()[0]
        database.rows.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StoreError) as caught, database.transaction():
            database.rows.execute("CREATE TABLE more AS SELECT randomblob(100000)")
    assert str(caught.value).startswith(f"{path} cannot be used now: its disk is full (")
