"""Sessions, messages and the journal as tables of a SQLite file."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib import codec
from hermes.store.database import Database
from hermes.store.protocol import SessionRow, StoredSession
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import StorageDamaged, StoreError, UnknownSession
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

MESSAGES: codec.Union[Message] = codec.Union(User, Assistant, ToolResult, Compaction)
SHIFT = 24
_SHOWN = SessionRow.__struct_fields__[:-1]
_LATEST = frozenset({"", "latest", "last"})
_LIST = """
SELECT id, title, cwd, branch, model, base_url, source, parent, origin, outside, created,
  coalesce((SELECT CASE WHEN json_valid(CAST(body AS TEXT)) THEN json_extract(body, '$.at') END
            FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24
            ORDER BY place DESC LIMIT 1), created) AS updated,
  coalesce((SELECT max(place) FROM messages
            WHERE place >= key << 24 AND place < (key + 1) << 24) - (key << 24), 0)
  - (SELECT count(*) FROM messages INDEXED BY messages_dropped
            WHERE place >= key << 24 AND place < (key + 1) << 24 AND dropped = 1) AS messages,
  coalesce((SELECT CASE WHEN json_valid(CAST(body AS TEXT)) THEN json_extract(body, '$.text') END
            FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24 AND kind = 'user'
            ORDER BY place LIMIT 1), '') AS first_text
FROM sessions LEFT JOIN uses ON uses.session = sessions.key
"""
_USED = """
INSERT OR REPLACE INTO uses (session)
SELECT :key WHERE :key IS NOT (SELECT session FROM uses ORDER BY number DESC LIMIT 1)
"""
_KEYS = "SELECT key FROM sessions LEFT JOIN uses ON uses.session = sessions.key"
_LAST_USED = "ORDER BY uses.number DESC, key DESC"


class _Words(Struct, frozen=True):
    """Where a kind of message once kept what its blocks say now."""

    name: str
    mark: bytes


_OLD = {"user": _Words("recalled", b'"recalled":'), "tool_result": _Words("note", b'"note":')}


class _New(Struct, frozen=True):
    row: SessionRow
    system: str
    tools: bytes
    capabilities: str
    goal: str = ""
    mode: str = ""


class _End(Struct, frozen=True):
    """Where the log of an open session ends; `last` is the place of its last message."""

    key: int
    last: int


class SessionTables:
    """The tables of one file; its writes belong in a `transaction`.

    They know how far each open session has been written from here, which agrees with the file whatever fails.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows
        self._new: dict[str, _New] = {}
        self._ends: dict[str, _End] = {}
        self._written: dict[str, _End] = {}  # in the transaction that runs

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of it or nothing; StoreError when it could not be written."""
        self._written.clear()
        with self._database.transaction():
            yield
        self._ends |= self._written
        for session_id in self._written:
            self._new.pop(session_id, None)

    def create(
        self, row: SessionRow, system: str, tools: Sequence[object], capabilities: Capabilities
    ) -> None:
        """Keep a session until its first message or question comes."""
        bounds = "" if capabilities == ALL else msgspec.json.encode(capabilities).decode()
        self._new[row.id] = _New(row, system, msgspec.json.encode(tools), bounds)

    def append(self, session_id: str, messages: Sequence[Message]) -> None:
        """Write messages at the end of a log; StoreError when somebody else has written there."""
        new = self._unwritten(session_id)
        end = self._write_new(new) if new is not None else self._end(session_id)
        rows = [
            (place, message.kind, MESSAGES.encode(message))
            for place, message in enumerate(messages, end.last + 1)
        ]
        try:
            self._rows.executemany("INSERT INTO messages (place, kind, body) VALUES (?, ?, ?)", rows)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
                raise
            raise StoreError(
                f"Session {session_id} is being used by another process; nothing was written. Close it there,"
                " or start a new one."
            ) from error
        if new is not None or any(isinstance(message, User) for message in messages):
            self._rows.execute(_USED, {"key": end.key})
        self._written[session_id] = _End(end.key, end.last + len(rows))

    def keep(self, session_id: str) -> None:
        """Write the row of a session that has waited for its first message, before that comes."""
        if self._unwritten(session_id) is not None:
            self.append(session_id, ())

    def settle(self, session_id: str, results: Sequence[ToolResult]) -> None:
        """Write results at the end of a log and forget the intents of its session."""
        self.append(session_id, results)
        self._rows.execute("DELETE FROM intents WHERE session = ?", (self._end(session_id).key,))

    def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        """Write the intent to run a call that has effects."""
        self._rows.execute(
            "INSERT OR REPLACE INTO intents (session, call_id, tool, digest) VALUES (?,?,?,?)",
            (self._end(session_id).key, call_id, tool, digest),
        )

    def finish(self, session_id: str, result: ToolResult) -> None:
        """Write the outcome of a call."""
        self._rows.execute(
            "INSERT INTO intents (session, call_id, tool, digest, result) VALUES (?,?,?,'',?)"
            " ON CONFLICT (session, call_id) DO UPDATE SET result = excluded.result",
            (self._end(session_id).key, result.call_id, result.name, MESSAGES.encode(result)),
        )

    def load(self, session_id: str) -> StoredSession:
        """A session whole, to be written to from here."""
        stored = self.read(session_id)
        if stored.unreadable:
            raise StorageDamaged(
                f"Session {session_id} cannot go on: its message {stored.unreadable[0]} in"
                f" {self._database.path} cannot be read. hermes sessions show {session_id}"
                " shows the others; a backup may have it."
            )
        with self._database.faults():
            key, last = self._rows.execute(
                "SELECT key, coalesce((SELECT max(place) FROM messages WHERE place >= key << 24"
                " AND place < (key + 1) << 24), key << 24) FROM sessions WHERE id = ?",
                (session_id,),
            ).fetchone()
        self._ends[session_id] = _End(key, last)
        return stored

    def read(self, session_id: str) -> StoredSession:
        """A session as far as it can be read."""
        with self._database.faults():
            found = self._rows.execute(
                "SELECT key, system, tools, capabilities, goal, mode FROM sessions WHERE id = ?",
                (session_id,),
            ).fetchone()
            if found is None:
                raise StoreError(f"There is no session {session_id}; hermes sessions list shows them.")
            key, system, tools, bounds, goal, mode = found
            rows = self._rows.execute(
                "SELECT kind, body FROM messages WHERE place >= ? AND place < ? AND dropped = 0"
                " ORDER BY place",
                (key << SHIFT, (key + 1) << SHIFT),
            )
            log = [message_of(kind, body) for kind, body in rows]
            begun = self._rows.execute(
                "SELECT call_id, result FROM intents WHERE session = ?", (key,)
            ).fetchall()
            return StoredSession(
                row=self._list("WHERE key = ?", (key,))[0],
                system=system,
                tools=tuple(msgspec.json.decode(tools)),
                capabilities=bounds_of(bounds),
                goal=goal,
                mode=mode,
                log=tuple(filter(None, log)),
                begun={call_id: _result(body) for call_id, body in begun},
                unreadable=tuple(number for number, message in enumerate(log, 1) if message is None),
            )

    def drop_last(self, session_id: str, count: int) -> None:
        """Take the last `count` messages out of the log; their rows stay, marked."""
        end = self._end(session_id)
        self._rows.execute(
            "UPDATE messages SET dropped = 1 WHERE place IN (SELECT place FROM messages WHERE place > ?"
            " AND place <= ? AND dropped = 0 ORDER BY place DESC LIMIT ?)",
            (end.key << SHIFT, end.last, count),
        )

    def update(
        self,
        session_id: str,
        title: str | None,
        model: str | None,
        base_url: str | None,
        goal: str | None,
        mode: str | None,
        outside: str | None,
    ) -> None:
        """Change a session's title, model and its server's address, goal, mode, or what it has read from
        outside.
        """
        if new := self._unwritten(session_id):
            row = replace(
                new.row,
                title=title or new.row.title,
                model=model or new.row.model,
                base_url=new.row.base_url if base_url is None else base_url,
                outside=outside or new.row.outside,
            )
            self._new[session_id] = replace(
                new,
                row=row,
                goal=new.goal if goal is None else goal,
                mode=new.mode if mode is None else mode,
            )
            return
        self._rows.execute(
            "UPDATE sessions SET title = coalesce(?, title), model = coalesce(?, model),"
            " base_url = coalesce(?, base_url), goal = coalesce(?, goal), mode = coalesce(?, mode),"
            " outside = coalesce(?, outside) WHERE id = ?",
            (title, model, base_url, goal, mode, outside, session_id),
        )

    def recent(self, limit: int, cwd: str) -> list[SessionRow]:
        """Sessions that are no children, the last used first; those of one directory if `cwd` is given."""
        own = "WHERE parent = ''"
        where, values = (f"{own} AND cwd = ?", (cwd,)) if cwd else (own, ())
        wanted = f"{_KEYS} {where} {_LAST_USED} LIMIT ?"  # first: what a row shows is looked up in its log
        with self._database.faults():
            return self._list(f"WHERE key IN ({wanted}) {_LAST_USED}", (*values, limit))

    def children(self, session_id: str) -> list[SessionRow]:
        """The children of a session, the first begun first."""
        with self._database.faults():
            return self._list("WHERE parent <> '' AND parent = ? ORDER BY key", (session_id,))

    def resolve(self, text: str, cwd: str) -> SessionRow:
        """The one session that `text` names."""
        if text in _LATEST:
            return chosen(text, self.recent(1, cwd))
        with self._database.faults():
            same = self._list(f"WHERE id = ? OR title = ? COLLATE NOCASE {_LAST_USED}", (text, text))
            near = self._list(f"WHERE substr(id, 1, ?) = ? {_LAST_USED}", (len(text), text))
        return chosen(text, same or near)

    def delete(self, session_id: str) -> bool:
        """Remove a session with all that belongs to it; whether it was there."""
        found = self._rows.execute("SELECT key FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if found is None:
            return False
        (key,) = found
        low, high = key << SHIFT, (key + 1) << SHIFT
        self._rows.execute("DELETE FROM messages WHERE place >= ? AND place < ?", (low, high))
        self._rows.execute("DELETE FROM intents WHERE session = ?", (key,))
        self._rows.execute("DELETE FROM uses WHERE session = ?", (key,))
        self._rows.execute("DELETE FROM questions WHERE session = ?", (key,))
        self._rows.execute("DELETE FROM sessions WHERE key = ?", (key,))
        return True

    def _unwritten(self, session_id: str) -> _New | None:
        return None if session_id in self._written else self._new.get(session_id)

    def _write_new(self, new: _New) -> _End:
        row = new.row
        done = self._rows.execute(
            "INSERT INTO sessions (id, created, title, cwd, branch, source, model, base_url, parent, origin,"
            " outside, system, tools, capabilities, goal, mode) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                row.id, row.created, row.title, row.cwd, row.branch, row.source, row.model, row.base_url,
                row.parent, row.origin, row.outside, new.system, new.tools, new.capabilities, new.goal,
                new.mode,
            ),
        )  # fmt: skip
        key = done.lastrowid or 0
        return _End(key, key << SHIFT)

    def _end(self, session_id: str) -> _End:
        end = self._written.get(session_id) or self._ends.get(session_id)
        if end is None:
            raise StoreError(f"Session {session_id} is not open here; load it before writing to it.")
        return end

    def _list(self, clause: str, values: tuple[object, ...]) -> list[SessionRow]:
        return listed(self._rows, clause, values)


def listed(rows: sqlite3.Connection, clause: str, values: tuple[object, ...]) -> list[SessionRow]:
    """The sessions that a clause selects and orders, as a list shows them; bytes that are no text are spelled
    out.
    """
    query = f"{_LIST} {clause}"
    try:
        return [_shown(row) for row in rows.execute(query, values)]
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise  # a fault of the database, and not bytes that are no text
    rows.text_factory = _spelled_out
    try:
        return [_shown(row) for row in rows.execute(query, values)]
    finally:
        rows.text_factory = str


class _SpelledOut(str):
    """A text with bytes that were none."""

    __slots__ = ()


def _spelled_out(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return text if text.encode() == data else _SpelledOut(text)


def _shown(row: tuple[Any, ...]) -> SessionRow:
    fields = dict(zip(_SHOWN, row, strict=True))
    return SessionRow(**fields, damaged=any(isinstance(one, _SpelledOut) for one in row))


def message_of(kind: str, body: bytes) -> Message | None:
    """The message of a row, or None when it cannot be read."""
    # One call a row where nothing is to be done: a session that is resumed has thousands of them
    old = _OLD.get(kind)
    try:
        return MESSAGES.decoders[kind](_with_blocks(old, body) if old and old.mark in body else body)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, KeyError):
        return None


def _with_blocks(old: _Words, body: bytes) -> bytes:
    """The row as it is written now: before there were blocks, what they say stood in one text."""
    tree = msgspec.json.decode(body, type=dict[str, Any])
    words = tree.pop(old.name, "")
    return msgspec.json.encode({"blocks": [{"kind": "other", "text": words}] if words else [], **tree})


def named(text: str, rows: Sequence[SessionRow], cwd: str) -> Sequence[SessionRow]:
    """The rows that `text` may mean, of all rows with the last used first."""
    if text in _LATEST:
        return [row for row in rows if cwd in {"", row.cwd}][:1]
    same = [row for row in rows if text == row.id or text.lower() == row.title.lower()]
    return same or [row for row in rows if row.id.startswith(text)]


def chosen(text: str, rows: Sequence[SessionRow]) -> SessionRow:
    """The one row that `text` names, of those that fit; UnknownSession says what is near."""
    if not rows:
        wanted = "no session of this directory yet" if text in _LATEST else f"no session {text!r}"
        raise UnknownSession(f"There is {wanted}; hermes sessions list shows what there is.")
    if len(rows) > 1:
        near = ", ".join(row.id for row in rows[:5])
        raise UnknownSession(f"{text!r} could be any of {near}; give one by its id.")
    return rows[0]


def bounds_of(stored: str) -> Capabilities:
    """The capabilities of a row."""
    return msgspec.json.decode(stored, type=Capabilities) if stored else ALL


def _result(body: bytes | None) -> ToolResult | None:
    if body is None:
        return None
    result = message_of("tool_result", body)
    if not isinstance(result, ToolResult):
        raise msgspec.DecodeError("an intent's outcome is not a tool result")
    return result
