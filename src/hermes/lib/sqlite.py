"""SQLite files: connect, bring up to date, write-ahead log."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

BUSY_MS = 10_000


class NewerSchemaError(sqlite3.DatabaseError):
    """The file was written by a newer version of the program."""


def connect(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """An open connection in autocommit mode whose schema is up to date.

    A commit survives the death of the process (write-ahead log, synchronous=NORMAL). Check-pointing is left to `checkpoint`,
    so that no append pays for it. Raises sqlite3 errors.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        migrate(connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Apply the migrations that the file has not seen, each in a transaction of its own."""
    version = _version(connection)
    if version > len(migrations):
        raise NewerSchemaError(f"schema {version} is newer than {len(migrations)}, the newest this program knows")
    for number in range(version, len(migrations)):
        _apply(connection, number, migrations[number])


def checkpoint(path: Path) -> None:
    """Move the write-ahead log into the file, without stopping writers."""
    connection = sqlite3.connect(path, timeout=1)
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    finally:
        connection.close()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) == number:  # another process may have been faster
            for statement in filter(str.strip, script.split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
