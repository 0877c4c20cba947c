"""The file of facts as it is opened: whole from its beginning, looked over, and never begun anew where facts
were lost.
"""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib import sqlite
from hermes.store.database import Database
from hermes.store.migrations import scripts
from hermes.store.reading import reading
from hermes.types.error import StorageDamaged

SCHEMA: Final = "facts"
MENDING: Final = (
    "no fact in it is told, and none is noted. Put a copy of the file in its place, or move it away, with its"
    " -wal and -shm, to begin with no facts."
)


def open_facts(path: Path) -> Database:
    """The file, made where there is none; StorageDamaged where its pages or all that was in it are lost,
    StoreError where it cannot be used now.
    """
    _refuse_emptied(path)
    if not path.exists():
        with suppress(OSError, sqlite3.DatabaseError):  # of which the next line tells
            sqlite.make(path, scripts(SCHEMA))
    database = Database(path, SCHEMA, mending=MENDING)
    try:
        with database.faults():
            _look_over(database.rows)
    except BaseException:
        database.close()
        raise
    return database


def examine(path: Path) -> None:
    """StorageDamaged and StoreError as from `open_facts`; nothing is changed."""
    _refuse_emptied(path)
    if path.exists():
        try:
            with reading(path) as rows:
                _look_over(rows)
        except StorageDamaged as error:
            raise _damaged(path, error.__cause__) from error


def _look_over(rows: sqlite3.Connection) -> None:
    """DatabaseError where pages are damaged or a table is gone."""
    found = rows.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).splitlines()[-1])
    rows.execute("SELECT number FROM facts LIMIT 1").fetchone()
    rows.execute("SELECT rowid FROM fact_words LIMIT 1").fetchone()


def _refuse_emptied(path: Path) -> None:
    """StorageDamaged for a file that holds no table, and for a log whose file is gone: a new file has all of
    its tables from its beginning, an older one has them in its log at least.
    """
    log = path.with_name(f"{path.name}-wal")
    has_log = log.is_file() and log.stat().st_size > 0
    if path.is_file() and not sqlite.schema_of(path) and not (has_log and path.stat().st_size):
        raise _damaged(path, "it holds no table of facts")
    if has_log and not path.exists():
        raise _damaged(path, f"it is gone, and {log.name} is there")


def _damaged(path: Path, why: object) -> StorageDamaged:
    return StorageDamaged(f"{path} is damaged ({why}): {MENDING}")
