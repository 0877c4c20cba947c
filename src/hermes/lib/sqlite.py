"""SQLite files: connect, bring up to date, transactions, write-ahead log."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from hermes.lib.files import make_private

BUSY_MS = 10_000
PAUSE_MS = 10
"""How long to wait before the log of a file that others are making or clearing away is asked for again."""
LOG_BYTES = 4 << 20
"""The write-ahead log is moved into the file when it is larger than this and nothing else is to be done."""
BUSY_LOG_BYTES = 8 << 20
"""The same between two writes."""
STEP = 1 << 20
"""How much the log grows before it is tried again to move what others keep."""


class NewerSchemaError(sqlite3.DatabaseError):
    """The file was written by a newer version of the program."""


def connect(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """An open connection in autocommit mode whose schema is up to date; a new file is for this user alone.

    A commit survives the death of the process (write-ahead log, synchronous=NORMAL). The log is moved into
    the file by `checkpoint` alone, so that no commit pays for it. Raises sqlite3 errors.
    """
    _refuse_newer(schema_of(path), migrations)  # before anything of it is touched
    make_private(path.parent)
    with suppress(OSError):  # of which SQLite tells in its own words
        _make_empty(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
    try:
        _keep_log(connection)
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        migrate(connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def make(path: Path, migrations: Sequence[str]) -> None:
    """Make a file that has its whole schema from the moment it is there; one that is there stays as it is."""
    with _linked(path) as new, closing(sqlite3.connect(new, isolation_level=None)) as connection:
        migrate(connection, migrations)


def is_incomplete(error: Exception) -> bool:
    """Whether a table, an index or a column is not there that the schema has: no lock, no full disk."""
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such ")


def objects(rows: sqlite3.Connection) -> set[tuple[str, str]]:
    """The tables, indexes and triggers of a schema, each as its type and name."""
    query = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    return set(rows.execute(query))


def migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Apply the migrations that the file has not seen, each in a transaction of its own."""
    version = _version(connection)
    _refuse_newer(version, migrations)
    for number in range(version, len(migrations)):
        _apply(connection, number, migrations[number])


def schema_of(path: Path) -> int:
    """How many migrations a file has seen, as far as it stands in the file itself; 0 for what is none."""
    try:
        with at_rest(path) as rows:
            rows.execute("PRAGMA writable_schema=1")  # the header is read of a file that was cut, too
            return _version(rows)
    except sqlite3.DatabaseError:
        return 0


@contextmanager
def at_rest(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads what stands in the file itself: it sees no log, waits for nobody and changes
    nothing.

    Whoever reads the file of a store past SQLite takes its locks from this process: the system drops all of
    them when any descriptor of that file is closed. SQLite closes its own when no lock needs them.
    """
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as rows:
        yield rows


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of it or nothing: whatever fails inside, or in the commit, is rolled back and raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some errors of SQLite have ended it already
            connection.execute("ROLLBACK")
        raise


class Checkpoints:
    """Moves a file's write-ahead log into the file when it has grown large, whoever wrote it.

    While others read or write, as much is moved as can be without waiting, and it is tried again when the
    log has grown a little: it begins anew as soon as nobody reads what it had long ago. So it is bounded by
    `BUSY_LOG_BYTES` and what one transaction writes; one that others keep reading grows as long as they do.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._log = connection, path.with_name(path.name + "-wal")
        self._next = 0

    def is_overdue(self) -> bool:
        """Whether the log should be moved though there is more to write."""
        return self._is_due(BUSY_LOG_BYTES)

    def run(self) -> None:
        """Move the log if it is large; never fails, for nothing is lost when it cannot be done now."""
        if not self._is_due(LOG_BYTES):
            return
        try:
            self._connection.execute("PRAGMA busy_timeout=0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.DatabaseError:
            pass  # busy, or a fault that the next write will name
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        self._next = self._size() + STEP

    def _is_due(self, limit: int) -> bool:
        size = self._size()
        if size < LOG_BYTES:  # it has begun anew
            self._next = 0
        return size >= max(limit, self._next)

    def _size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0


def _make_empty(path: Path) -> None:
    """Have a file for this user alone, without closing a descriptor of one that others may have by now."""
    if not path.exists():
        with _linked(path):
            pass


@contextmanager
def _linked(path: Path) -> Iterator[Path]:
    """A new file for this user alone that gets its name at the end, unless another one has it by then."""
    make_private(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()


def _refuse_newer(version: int, migrations: Sequence[str]) -> None:
    if version > len(migrations):
        raise NewerSchemaError(
            f"schema {version} is newer than {len(migrations)}, the newest this program knows"
        )


def _keep_log(connection: sqlite3.Connection) -> None:
    """Let the file have a write-ahead log, once those are through who make one or clear it away.

    SQLite does not always wait by itself for them: of two who make it at once one is refused.
    """
    for left in reversed(range(BUSY_MS // PAUSE_MS)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not left:
                raise
            time.sleep(PAUSE_MS / 1000)  # noqa: TID251  # for the store's own thread
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    with transaction(connection):
        if _version(connection) == number:  # another process may have been faster
            for statement in filter(str.strip, script.split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number + 1}")
