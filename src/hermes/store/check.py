"""What is wrong with a store, found without changing it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from hermes.lib.sqlite import objects
from hermes.store.migrations import scripts
from hermes.store.reading import reading
from hermes.store.sessions import SHIFT, message_of
from hermes.types.error import StorageDamaged, StoreError

_FAULTS = 100


class StoreCheck(Struct, frozen=True, kw_only=True):
    """What a check has found: `faults` of the file, and in a whole file the rows that are `unreadable` or
    missing.
    `schema` is the number of migrations it has seen.
    """

    path: str
    schema: int = 0
    sessions: int = 0
    messages: int = 0
    faults: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def check(path: Path, *, full: bool = False) -> StoreCheck:
    """Look a store over: its schema and its pages, and in full its indexes, every message and each session's
    row too.

    StoreError where it cannot be read at all now, or was written by a newer Hermes.
    """
    if not path.is_file():
        raise StoreError(f"There is no store at {path}.")
    try:
        with reading(path) as rows:
            refuse_newer(path, rows)
            return _checked(path, rows, full=full)
    except StorageDamaged as error:
        return StoreCheck(path=str(path), faults=(str(error),))


def refuse_newer(path: Path, rows: sqlite3.Connection) -> None:
    """StoreError for a store of a newer version, StorageDamaged for a file that is no store."""
    version = rows.execute("PRAGMA user_version").fetchone()[0]
    if version > len(scripts("sessions")):
        raise StoreError(
            f"{path} was written by a newer Hermes (schema {version}); update Hermes to open it."
        )
    if not version:
        raise StorageDamaged(f"{path} is no store of sessions.")


def _checked(path: Path, rows: sqlite3.Connection, *, full: bool) -> StoreCheck:
    told = [f"the {kind} {name} is missing" for kind, name in sorted(_lacking(rows))]
    if told:  # what counts and reads rows would stop there
        return StoreCheck(path=str(path), faults=tuple(told))
    pragma = "integrity_check" if full else "quick_check"
    told = [str(one) for (one,) in rows.execute(f"PRAGMA {pragma}({_FAULTS})") if one != "ok"]
    return StoreCheck(
        path=str(path),
        schema=rows.execute("PRAGMA user_version").fetchone()[0],
        sessions=rows.execute("SELECT count(*) FROM sessions").fetchone()[0],
        messages=rows.execute("SELECT count(*) FROM messages").fetchone()[0],
        faults=tuple(told),
        unreadable=tuple(_unreadable(rows)) if full and not told else (),
    )


def _lacking(rows: sqlite3.Connection) -> set[tuple[str, str]]:
    """What the schema of this number has and the store has not, as type and name."""
    version = rows.execute("PRAGMA user_version").fetchone()[0]
    with closing(sqlite3.connect(":memory:")) as whole:
        for script in scripts("sessions")[:version]:
            whole.executescript(script)
        return objects(whole) - objects(rows)


def _unreadable(rows: sqlite3.Connection) -> Iterator[str]:
    """Rows that hold what nobody can read, and messages that are missing or belong to no session."""
    names = {
        key: name.decode("utf-8", "backslashreplace")
        for key, name in rows.execute("SELECT key, CAST(id AS BLOB) FROM sessions")
    }
    for key, *texts in rows.execute(
        "SELECT key, CAST(id AS BLOB), CAST(title AS BLOB), CAST(cwd AS BLOB), CAST(system AS BLOB)"
        " FROM sessions"
    ):
        if any(not _is_text(text) for text in texts):
            yield f"session {names[key]}: its row has bytes that are no text"
    place_before = 0
    for place, kind, body in rows.execute(
        "SELECT place, CAST(kind AS BLOB), body FROM messages ORDER BY place"
    ):
        key, number = place >> SHIFT, place & ((1 << SHIFT) - 1)
        name = names.get(key)
        if name is None:
            yield f"message {number} belongs to no session (key {key})"
            continue
        missing = place - 1 - max(place_before, key << SHIFT)
        if missing:
            yield f"session {name}: {missing} messages before its message {number} are missing"
        if not _is_text(kind) or message_of(kind.decode(), body) is None:
            yield f"session {name}: message {number} cannot be read"
        place_before = place


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
