"""Sessions and messages in SQLite: append, load, list. The only writer of the log's rows.

A row is written before anything else learns of the message (invariants 1 and 2: durable before visible, journal before effect).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hermes.lib import codec, sqlite
from hermes.store.schema import scripts
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

MESSAGES: codec.Union[Message] = codec.Union(User, Assistant, ToolResult, Compaction)
CHECKPOINT_EVERY = 500
_LIST = (
    "SELECT id, title, cwd, branch, model, source, parent, created,"
    " coalesce((SELECT json_extract(body, '$.at') FROM messages WHERE session = key ORDER BY seq DESC LIMIT 1), created) AS updated,"
    " (SELECT count(*) FROM messages WHERE session = key AND dropped = 0) AS messages,"
    " coalesce((SELECT json_extract(body, '$.text') FROM messages WHERE session = key AND kind = 'user' LIMIT 1), '') AS first_text"
    " FROM sessions"
)


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
        with self._faults():
            self._db = sqlite.connect(path, scripts("sessions"))
            self._db.execute("PRAGMA foreign_keys=ON")

    def create(self, row: SessionRow, *, system: str, tools: Sequence[object]) -> None:
        """Add a session with its frozen prompt and tool definitions."""
        with self._faults():
            done = self._db.execute(
                "INSERT INTO sessions (id, created, title, cwd, branch, source, model, parent, system, tools) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (
                    row.id,
                    row.created,
                    row.title,
                    row.cwd,
                    row.branch,
                    row.source,
                    row.model,
                    row.parent,
                    system,
                    msgspec.json.encode(tools),
                ),
            )
        self._keys[row.id] = done.lastrowid or 0
        self._last[row.id] = 0

    def append(self, session_id: str, message: Message) -> None:
        """Write one message; StoreError when another process has written to this session since it was opened here."""
        key = self._keys[session_id]
        with self._faults():
            done = self._db.execute(
                "INSERT INTO messages (session, kind, body) SELECT ?1, ?2, ?3"
                " WHERE (SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?1) = ?4",
                (key, message.kind, MESSAGES.encode(message), self._last[session_id]),
            )
        if done.rowcount != 1 or not done.lastrowid:
            raise StoreError(
                f"Session {session_id} is being used by another process; nothing was written. Close it there or start a new one."
            )
        self._last[session_id] = done.lastrowid
        self._count()

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
            rows = self._db.execute("SELECT seq, kind, body, dropped FROM messages WHERE session = ? ORDER BY seq", (key,)).fetchall()
            begun = self._db.execute("SELECT call_id, result FROM intents WHERE session = ?", (key,)).fetchall()
            log = tuple(MESSAGES.decode_kind(kind, body) for _, kind, body, dropped in rows if not dropped)
            results = {call_id: _result(body) for call_id, body in begun}
            definitions = tuple(msgspec.json.decode(tools))
            row = self._rows("WHERE key = ?", (key,))[0]
        self._keys[session_id] = key
        self._last[session_id] = rows[-1][0] if rows else 0
        return Stored(row=row, system=system, tools=definitions, log=log, begun=results)

    def drop_last(self, session_id: str, count: int) -> None:
        """Take the last `count` messages out of the log; their rows stay, marked."""
        with self._faults():
            self._db.execute(
                "UPDATE messages SET dropped = 1 WHERE seq IN"
                " (SELECT seq FROM messages WHERE session = ? AND dropped = 0 ORDER BY seq DESC LIMIT ?)",
                (self._keys[session_id], count),
            )

    def update(self, session_id: str, *, title: str | None = None, model: str | None = None) -> None:
        """Change a session's title or model."""
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
            wanted = f"no session {text!r}" if text else "no session yet"
            raise StoreError(f"There is {wanted}; hermes sessions list shows what there is.")
        if len(rows) > 1 and rows[0].title.lower() != text.lower():
            near = ", ".join(row.id for row in rows[:5])
            raise StoreError(f"{text!r} could be any of {near}; give more of the id.")
        return rows[0]

    def delete(self, session_id: str) -> bool:
        """Remove a session and its messages; whether it was there."""
        with self._faults():
            return self._db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 1

    def messages_after(self, seq: int, limit: int) -> list[tuple[int, str, bytes]]:
        """Rows (seq, kind, body) in order, for the search index."""
        with self._faults():
            return self._db.execute("SELECT seq, kind, body FROM messages WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)).fetchall()

    def message_at(self, seq: int) -> tuple[SessionRow, Message] | None:
        """The message with that number and its session, or None when it is gone."""
        with self._faults():
            found = self._db.execute("SELECT session, kind, body FROM messages WHERE seq = ? AND dropped = 0", (seq,)).fetchone()
            if found is None:
                return None
            return self._rows("WHERE key = ?", (found[0],))[0], MESSAGES.decode_kind(found[1], found[2])

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
        """Turn the database's errors into ours: damage is never reported as absence (invariant 5)."""
        try:
            yield
        except sqlite.NewerSchemaError as error:
            raise StoreError(f"{self.path} was written by a newer Hermes ({error}); update Hermes to open it.") from error
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path} cannot be used now ({error}); check the disk and its permissions.") from error
        except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
            raise StorageDamaged(f"{self.path} is damaged ({error}); restore it from a backup or move it away.") from error


def _result(body: bytes | None) -> ToolResult | None:
    if body is None:
        return None
    result = MESSAGES.decode(body)
    if not isinstance(result, ToolResult):
        raise msgspec.DecodeError("an intent's outcome is not a tool result")
    return result
