"""Sessions and messages in SQLite: append, load, list. The only writer of the log's rows.

A row is written before anything else learns of the message (invariants 1 and 2: durable before visible, journal before effect).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hermes.lib import codec, sqlite
from hermes.store.schema import scripts
from hermes.store.usage import UsageLog
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

MESSAGES: codec.Union[Message] = codec.Union(User, Assistant, ToolResult, Compaction)
CHECKPOINT_EVERY = 500
SHIFT = 24
_LIST = """
SELECT id, title, cwd, branch, model, source, parent, created,
  coalesce((SELECT json_extract(body, '$.at') FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24
            ORDER BY place DESC LIMIT 1), created) AS updated,
  (SELECT count(*) FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24 AND dropped = 0) AS messages,
  coalesce((SELECT json_extract(body, '$.text') FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24 AND kind = 'user'
            ORDER BY place LIMIT 1), '') AS first_text
FROM sessions
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as a list shows it; times in epoch seconds."""

    id: str
    title: str
    cwd: str
    branch: str
    model: str
    source: str
    parent: str
    created: float
    updated: float
    messages: int
    first_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A session as it is resumed: its frozen prompt and tools, its log, and the calls that were begun."""

    row: SessionRow
    system: str
    tools: tuple[object, ...]
    log: tuple[Message, ...]
    begun: dict[str, ToolResult | None]


class Sessions:
    """The store of one home. Methods are quick and synchronous; call them from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._since_checkpoint = 0
        self._checkpointer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hermes-checkpoint")
        self._keys: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._new: dict[str, tuple[SessionRow, str, bytes]] = {}
        with self._faults():
            self._db = sqlite.connect(path, scripts("sessions"))
            self._db.execute("PRAGMA foreign_keys=ON")
        self.usage = UsageLog(self._db, self._faults)

    def create(self, row: SessionRow, *, system: str, tools: Sequence[object]) -> None:
        """Note a session with its frozen prompt and tool definitions; its row is written with its first message."""
        self._new[row.id] = (row, system, msgspec.json.encode(tools))

    def append(self, session_id: str, message: Message) -> None:
        """Write one message; StoreError when another process has written to this session since it was opened here."""
        if session_id in self._new:
            self._write_new(session_id)
        place = self._last[session_id] + 1
        try:
            self._db.execute("INSERT INTO messages (place, kind, body) VALUES (?, ?, ?)", (place, message.kind, MESSAGES.encode(message)))
        except sqlite3.IntegrityError as error:
            raise StoreError(
                f"Session {session_id} is being used by another process; nothing was written. Close it there, or start a new one."
            ) from error
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from error
        self._last[session_id] = place
        self._count()

    def _write_new(self, session_id: str) -> None:
        row, system, tools = self._new[session_id]
        with self._faults():
            done = self._db.execute(
                "INSERT INTO sessions (id, created, title, cwd, branch, source, model, parent, system, tools) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (row.id, row.created, row.title, row.cwd, row.branch, row.source, row.model, row.parent, system, tools),
            )
        del self._new[session_id]
        self._keys[row.id] = done.lastrowid or 0
        self._last[row.id] = self._keys[row.id] << SHIFT

    def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        """Write the intent to run a call that has effects."""
        with self._faults():
            self._db.execute(
                "INSERT OR REPLACE INTO intents (session, call_id, tool, digest) VALUES (?,?,?,?)",
                (self._keys[session_id], call_id, tool, digest),
            )

    def finish(self, session_id: str, result: ToolResult) -> None:
        """Write the outcome of a call before its turn to be appended comes."""
        with self._faults():
            self._db.execute(
                "INSERT INTO intents (session, call_id, tool, digest, result) VALUES (?,?,?,'',?)"
                " ON CONFLICT (session, call_id) DO UPDATE SET result = excluded.result",
                (self._keys[session_id], result.call_id, result.name, MESSAGES.encode(result)),
            )

    def settle(self, session_id: str) -> None:
        """Forget the intents of a session: all their results are in the log."""
        with self._faults():
            self._db.execute("DELETE FROM intents WHERE session = ?", (self._keys[session_id],))

    def load(self, session_id: str) -> Stored:
        """A session whole; StoreError when there is none of that id, StorageDamaged when a row cannot be read."""
        with self._faults():
            found = self._db.execute("SELECT key, system, tools FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if found is None:
                raise StoreError(f"There is no session {session_id}; hermes sessions list shows them.")
            key, system, tools = found
            low, high = key << SHIFT, (key + 1) << SHIFT
            rows = self._db.execute(
                "SELECT place, kind, body, dropped FROM messages WHERE place >= ? AND place < ? ORDER BY place", (low, high)
            ).fetchall()
            begun = self._db.execute("SELECT call_id, result FROM intents WHERE session = ?", (key,)).fetchall()
            log = tuple(MESSAGES.decode_kind(kind, body) for _, kind, body, dropped in rows if not dropped)
            results = {call_id: _result(body) for call_id, body in begun}
            definitions = tuple(msgspec.json.decode(tools))
            row = self._rows("WHERE key = ?", (key,))[0]
        self._keys[session_id] = key
        self._last[session_id] = rows[-1][0] if rows else low
        return Stored(row=row, system=system, tools=definitions, log=log, begun=results)

    def drop_last(self, session_id: str, count: int) -> None:
        """Take the last `count` messages out of the log; their rows stay, marked."""
        with self._faults():
            self._db.execute(
                "UPDATE messages SET dropped = 1 WHERE place IN"
                " (SELECT place FROM messages WHERE place > ? AND place <= ? AND dropped = 0 ORDER BY place DESC LIMIT ?)",
                (self._keys[session_id] << SHIFT, self._last[session_id], count),
            )

    def update(self, session_id: str, *, title: str | None = None, model: str | None = None) -> None:
        """Change a session's title or model."""
        if session_id in self._new:
            row, system, tools = self._new[session_id]
            self._new[session_id] = (replace(row, title=title or row.title, model=model or row.model), system, tools)
            return
        for column, value in (("title", title), ("model", model)):
            if value is not None:
                with self._faults():
                    self._db.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session_id))  # noqa: S608  # two fixed names

    def recent(self, *, limit: int = 50, cwd: str = "") -> list[SessionRow]:
        """Sessions, the last used first; those of one directory if `cwd` is given."""
        where, values = ("WHERE cwd = ?", (cwd,)) if cwd else ("", ())
        with self._faults():
            return self._rows(f"{where} ORDER BY updated DESC LIMIT ?", (*values, limit))

    def resolve(self, text: str, *, cwd: str = "") -> SessionRow:
        """The session that an id, the start of an id, a title or `latest` names; StoreError says what is near."""
        if text in {"", "latest", "last"}:
            rows = self.recent(limit=1, cwd=cwd) or self.recent(limit=1)
        else:
            with self._faults():
                prefix = text.replace("%", "").replace("_", "\\_") + "%"
                rows = self._rows("WHERE id = ? OR title = ? COLLATE NOCASE ORDER BY updated DESC", (text, text))
                rows = rows or self._rows("WHERE id LIKE ? ESCAPE '\\' ORDER BY updated DESC", (prefix,))
        if not rows:
            wanted = "no session yet" if text in {"", "latest", "last"} else f"no session {text!r}"
            raise StoreError(f"There is {wanted}; hermes sessions list shows what there is.")
        if len(rows) > 1 and rows[0].title.lower() != text.lower():
            near = ", ".join(row.id for row in rows[:5])
            raise StoreError(f"{text!r} could be any of {near}; give more of the id.")
        return rows[0]

    def delete(self, session_id: str) -> bool:
        """Remove a session and its messages; whether it was there."""
        with self._faults():
            found = self._db.execute("SELECT key FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if found is None:
                return False
            (key,) = found
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM messages WHERE place >= ? AND place < ?", (key << SHIFT, (key + 1) << SHIFT))
            self._db.execute("DELETE FROM intents WHERE session = ?", (key,))
            self._db.execute("DELETE FROM sessions WHERE key = ?", (key,))
            self._db.execute("COMMIT")
        return True

    def keys(self) -> tuple[int, ...]:
        """The keys of all sessions: their messages' places begin at key << 24."""
        with self._faults():
            return tuple(key for (key,) in self._db.execute("SELECT key FROM sessions ORDER BY key"))

    def messages_after(self, key: int, place: int, limit: int) -> Sequence[tuple[int, str, bytes]]:
        """Rows (place, kind, body) of one session after a place, in order, for the search index."""
        with self._faults():
            return self._db.execute(
                "SELECT place, kind, body FROM messages WHERE place > ? AND place < ? ORDER BY place LIMIT ?",
                (max(place, key << SHIFT), (key + 1) << SHIFT, limit),
            ).fetchall()

    def message_at(self, place: int) -> tuple[SessionRow, Message] | None:
        """The message at that place and its session, or None when it is gone."""
        with self._faults():
            found = self._db.execute("SELECT kind, body FROM messages WHERE place = ? AND dropped = 0", (place,)).fetchone()
            if found is None:
                return None
            return self._rows("WHERE key = ?", (place >> SHIFT,))[0], MESSAGES.decode_kind(found[0], found[1])

    def check(self) -> str:
        """`ok`, or what SQLite finds wrong with the file."""
        with self._faults():
            return str(self._db.execute("PRAGMA quick_check(1)").fetchone()[0])

    def close(self) -> None:
        """Write everything to the main file and let go of it."""
        self._checkpointer.shutdown(wait=True)
        self._db.close()

    def _rows(self, clause: str, values: tuple[object, ...]) -> list[SessionRow]:
        names = SessionRow.__dataclass_fields__
        return [SessionRow(**dict(zip(names, row, strict=True))) for row in self._db.execute(f"{_LIST} {clause}", values)]

    def _count(self) -> None:
        self._since_checkpoint += 1
        if self._since_checkpoint >= CHECKPOINT_EVERY:
            self._since_checkpoint = 0
            self._checkpointer.submit(sqlite.checkpoint, self.path)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        try:
            yield
        except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> StoreError:
        """What an error means to a person; damage is never reported as absence (invariant 5)."""
        if isinstance(error, sqlite.NewerSchemaError):
            return StoreError(f"{self.path} was written by a newer Hermes ({error}); update Hermes to open it.")
        if isinstance(error, sqlite3.OperationalError):
            return StoreError(f"{self.path} cannot be used now ({error}); check the disk and its permissions.")
        return StorageDamaged(f"{self.path} is damaged ({error}); restore it from a backup or move it away.")


def _result(body: bytes | None) -> ToolResult | None:
    if body is None:
        return None
    result = MESSAGES.decode(body)
    if not isinstance(result, ToolResult):
        raise msgspec.DecodeError("an intent's outcome is not a tool result")
    return result
