"""What can be read of a damaged store, in a new one."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib import sqlite
from hermes.lib.free_room import free_bytes
from hermes.store.backup import clear, put_in_place, sync
from hermes.store.cut_file import at_full_length
from hermes.store.database import Database
from hermes.store.log_reader import LogReader
from hermes.store.migrations import scripts
from hermes.store.presence import alone
from hermes.store.reading import faults_of
from hermes.store.search import SearchIndex
from hermes.store.sessions import SHIFT, message_of
from hermes.store.unusable import LITTLE, is_full, unusable
from hermes.types.error import StoreError

_TABLES: Final = ("usage", "uses", "intents", "questions")
_NUMBERS: Final = (1 << SHIFT) - 1
_PROBES: Final = 2_000
"""Reads that may fail in one stretch of rows before the rest of it is given up."""


class StoreRepair(Struct, frozen=True, kw_only=True):
    """What a repair has brought over, what is lost, in sentences, and where the damaged store is kept."""

    sessions: int
    messages: int
    lost: tuple[str, ...]
    kept: str


def repair(path: Path, index: Path, now: float) -> StoreRepair:
    """Write what can be read of a store into a new one, which takes its place, and build its index.

    The store that was there is kept beside it. StoreError while any process has it open, for one of a newer
    version, without room for a copy on its disk, and where nothing of it can be read: then nothing has
    changed.
    """
    if not path.is_file():
        raise StoreError(f"There is no store at {path}.")
    _refuse_without_room(path)
    half = path.with_name(f".{path.name}.half")
    try:
        with alone(path):
            sessions, messages, lost = _brought_over(path, half)
            kept = put_in_place(path, index, half, now, "damaged")
            _build_index(path, index)
    finally:
        clear(half)
    return StoreRepair(sessions=sessions, messages=messages, lost=tuple(lost), kept=str(kept))


def _refuse_without_room(path: Path) -> None:
    """A full disk makes a whole store look like one of which nothing can be read."""
    files = (path, path.with_name(f"{path.name}-wal"))
    needed = sum(one.stat().st_size for one in files if one.exists()) + LITTLE
    left = free_bytes(path)
    if left < needed:
        raise StoreError(
            f"A repaired copy of {path} takes up to {needed / 1e6:.1f} MB, and {left / 1e6:.1f} MB are left"
            " on its disk; make room there first. Whether it is damaged tells hermes store check; nothing has"
            " changed."
        )


def _brought_over(path: Path, half: Path) -> tuple[int, int, list[str]]:
    clear(half)
    with (
        faults_of(path),
        at_full_length(path) as whole,
        closing(sqlite3.connect(whole, isolation_level=None)) as old,
    ):
        old.execute("PRAGMA query_only=1")
        old.text_factory = _text
        _refuse_unreadable(path, old)
        with closing(sqlite.connect(half, scripts("sessions"))) as new:
            with sqlite.transaction(new):
                lost = [*_sessions(old, new), *_messages(old, new), *_others(old, new)]
            lost += _missing(new)
            new.execute("PRAGMA journal_mode=DELETE").fetchone()
            count = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)"
            sessions, messages = new.execute(count).fetchone()
    sync(half)
    return sessions, messages, lost


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _refuse_unreadable(path: Path, old: sqlite3.Connection) -> None:
    try:
        version = old.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.DatabaseError as error:
        if is_full(path, error):
            raise unusable(path, error) from error
        raise StoreError(
            f"Nothing of {path} can be read ({error}); restore it from a backup{_newest(path)}."
        ) from error
    if version > len(scripts("sessions")):
        raise StoreError(
            f"{path} was written by a newer Hermes (schema {version}); update Hermes to open it."
        )
    if not {"sessions", "messages"} <= tables:
        raise StoreError(f"{path} has no sessions in it; restore it from a backup{_newest(path)}.")


def _newest(path: Path) -> str:
    """The newest backup, in words that follow."""
    found = sorted((path.parent / "backups").glob(f"{path.stem}*.db"), key=lambda one: one.stat().st_mtime)
    return f": hermes store restore {found[-1]}" if found else ""


def _sessions(old: sqlite3.Connection, new: sqlite3.Connection) -> Iterator[str]:
    columns = _shared(old, new, "sessions")
    rows, holes = _rows(old, "sessions", "key", columns, 0, 1 << 39)
    if left_out := _insert(new, "sessions", columns, rows):
        yield f"{left_out} rows of sessions are no whole rows"
    yield from (f"rows of sessions {first} to {last} cannot be read" for first, last in holes)


def _messages(old: sqlite3.Connection, new: sqlite3.Connection) -> Iterator[str]:
    """The messages of each session by themselves; those of a session whose row is lost get a new row."""
    columns = _shared(old, new, "messages")
    known = dict(new.execute("SELECT key, id FROM sessions"))
    for key in range(1, _last_key(old, known) + 1):
        name = known.get(key, f"recovered-{key}")
        rows, holes = _rows(old, "messages", "place", columns, key << SHIFT, ((key + 1) << SHIFT) - 1)
        if rows and key not in known:
            new.execute(
                "INSERT INTO sessions (key, id, created, title, system) VALUES (?, ?, 0, 'recovered', '')",
                (key, f"recovered-{key}"),
            )
            yield f"the row of session {key} is lost; its messages are in recovered-{key}"
        if left_out := _insert(new, "messages", columns, rows):
            yield f"session {name}: {left_out} messages are no whole rows"
        for place, end in holes:
            first, last = max(1, place & _NUMBERS), end & _NUMBERS
            until = f" to {last}" if end & _NUMBERS < _NUMBERS else " on"
            yield f"session {name}: messages from number {first}{until} cannot be read"


def _others(old: sqlite3.Connection, new: sqlite3.Connection) -> Iterator[str]:
    """The small tables, as far as they can be read from their beginning and their end."""
    for table in _TABLES:
        columns = _shared(old, new, table)
        if not columns:
            yield f"the table {table} is missing"
            continue
        names, whole = ", ".join(columns), True
        found: list[Sequence[object]] = []
        order = ", ".join(str(number) for number in range(1, len(columns) + 1))
        for query in (f"SELECT {names} FROM {table}", f"SELECT {names} FROM {table} ORDER BY {order} DESC"):  # noqa: S608  # fixed names
            whole = _take(old, query, found)
            if whole:
                break
        _insert(new, table, columns, found)
        if not whole:
            yield f"rows of the table {table} cannot be read"


def _take(old: sqlite3.Connection, query: str, into: list[Sequence[object]]) -> bool:
    """Read rows until one cannot be read; whether all could."""
    try:
        into.extend(old.execute(query))
    except sqlite3.DatabaseError:
        return False
    return True


def _missing(new: sqlite3.Connection) -> Iterator[str]:
    """What of the messages brought over is not there, or cannot be read by anybody."""
    names = dict(new.execute("SELECT key, id FROM sessions"))
    for key, name in names.items():
        places = new.execute(
            "SELECT place, kind, body FROM messages WHERE place >= ? AND place < ? ORDER BY place",
            (key << SHIFT, (key + 1) << SHIFT),
        ).fetchall()
        there = {place - (key << SHIFT) for place, _, _ in places}
        gone = max(there, default=0) - len(there)
        if gone:
            yield f"session {name}: {gone} of its messages before the last one that is left"
        unreadable = [
            place - (key << SHIFT) for place, kind, body in places if message_of(kind, body) is None
        ]
        if unreadable:
            yield f"session {name}: message {', '.join(map(str, unreadable))} is kept and cannot be read"


def _rows(
    old: sqlite3.Connection, table: str, key: str, columns: Sequence[str], low: int, high: int
) -> tuple[list[tuple[object, ...]], list[tuple[int, int]]]:
    """The rows of a table whose keys lie in a range, and the stretches of keys that cannot be read."""
    names = ", ".join(columns)
    query = f"SELECT {key}, {names} FROM {table} WHERE {key} BETWEEN ? AND ? ORDER BY {key}"  # noqa: S608  # fixed names
    first, front = _until_fault(old, query, low, high)
    if first is None:
        return front, []
    last, back = _until_fault(old, f"{query} DESC", first, high)
    if last is None:
        return [*front, *back], []
    probe = _Probe(old, query)
    probe.read(first, last)
    return [*front, *probe.rows, *back], probe.holes


def _until_fault(
    old: sqlite3.Connection, query: str, low: int, high: int
) -> tuple[int | None, list[tuple[object, ...]]]:
    """The rows up to the first that cannot be read, in the order of the query, and the key next to the last
    of them on the side of the fault; None where all can be read.
    """
    rows: list[tuple[object, ...]] = []
    backwards = query.endswith("DESC")
    reached = high if backwards else low
    try:
        for key, *row in old.execute(query, (low, high)):
            rows.append(tuple(row))
            reached = key - 1 if backwards else key + 1
    except (sqlite3.DatabaseError, OverflowError):
        return reached, rows
    return None, rows


class _Probe:
    """Reads a stretch of keys in halves, and halves of those, until what is left is what cannot be read."""

    def __init__(self, old: sqlite3.Connection, query: str) -> None:
        self.rows: list[tuple[object, ...]] = []
        self.holes: list[tuple[int, int]] = []
        self._old, self._query, self._left = old, query, _PROBES

    def read(self, low: int, high: int) -> None:
        """Take in what of a stretch can be read."""
        if low > high:
            return
        found: list[tuple[object, ...]] = []
        with suppress(sqlite3.DatabaseError, OverflowError):
            found = [tuple(row) for _, *row in self._old.execute(self._query, (low, high))]
            self.rows += found
            return
        self._left -= 1
        if low == high or self._left <= 0:
            self._add_hole(low, high)
            return
        middle = (low + high) // 2
        self.read(low, middle)
        self.read(middle + 1, high)

    def _add_hole(self, low: int, high: int) -> None:
        if self.holes and self.holes[-1][1] == low - 1:
            low = self.holes.pop()[0]
        self.holes.append((low, high))


def _last_key(old: sqlite3.Connection, known: Mapping[int, str]) -> int:
    """The highest key of a session, as far as anything says it."""
    found = [max(known, default=0)]
    for query in (
        "SELECT max(place) >> 24 FROM messages",
        "SELECT seq FROM sqlite_sequence WHERE name = 'sessions'",
    ):
        with suppress(sqlite3.DatabaseError):
            row = old.execute(query).fetchone()
            found.append(int(row[0] or 0) if row else 0)
    return min(max(found), max(max(known, default=0) + 100_000, 100_000))


def _shared(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> list[str]:
    """The columns that a table has in both."""
    has = [{row[1] for row in rows.execute(f"PRAGMA table_info({table})")} for rows in (old, new)]
    return sorted(has[0] & has[1])


def _insert(
    new: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> int:
    """Write rows, and say how many of them could not be."""
    marks, before = ", ".join("?" * len(columns)), new.total_changes
    query = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608  # fixed names
    new.executemany(query, rows)
    return len(rows) - (new.total_changes - before)


def _build_index(path: Path, index: Path) -> None:
    with (
        closing(Database(path, "sessions")) as database,
        closing(SearchIndex(index, LogReader(database))) as made,
    ):
        while made.catch_up():
            pass
