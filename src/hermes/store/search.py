"""Full-text search over past sessions; an index outside the store that is brought up to date when it is asked."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from hermes.lib import sqlite
from hermes.store.schema import scripts
from hermes.store.sessions import MESSAGES, SessionRow, Sessions
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One message that matches, with its session and the text around the words."""

    session: SessionRow
    message: Message
    snippet: str


class Search:
    """The index of one store. It may be deleted at any time: it is built again from the store's rows."""

    def __init__(self, path: Path, sessions: Sessions) -> None:
        self._path, self._sessions = path, sessions
        try:
            self._db = sqlite.connect(path, scripts("search"))
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)  # an index, not a record: the store has everything in it
            self._db = sqlite.connect(path, scripts("search"))

    def find(self, words: str, *, limit: int = 20) -> list[Hit]:
        """Messages that hold all the words, best first."""
        self.catch_up()
        query = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
        if not query:
            return []
        rows = self._db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (query, limit * 2)).fetchall()
        hits = (self._hit(seq, words) for (seq,) in rows)
        return [hit for hit in hits if hit][:limit]

    def catch_up(self) -> int:
        """Index what was appended since the last time; how many messages that was."""
        seen: dict[int, int] = dict(self._db.execute("SELECT session, last FROM progress"))
        return sum(self._index(key, seen.get(key, 0)) for key in self._sessions.keys())  # noqa: SIM118  # a method, not a dict

    def _index(self, key: int, last: int) -> int:
        done = 0
        while rows := self._sessions.messages_after(key, last, BATCH):
            texts = ((place, text_of(MESSAGES.decode_kind(kind, body))) for place, kind, body in rows)
            last = rows[-1][0]
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", texts)
            self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (key, last))
            self._db.execute("COMMIT")
            done += len(rows)
        return done

    def close(self) -> None:
        """Let go of the index's file."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    def _hit(self, seq: int, words: str) -> Hit | None:
        found = self._sessions.message_at(seq)
        if found is None:
            return None
        session, message = found
        return Hit(session=session, message=message, snippet=_snippet(text_of(message), words))


def text_of(message: Message) -> str:
    """The words of a message that a search should find."""
    match message:
        case User(text=text) | Compaction(summary=text) | ToolResult(content=text):
            return text
        case Assistant():
            return "\n".join([message.text, *(f"{call.name} {call.raw}" for call in message.calls)])


def _snippet(text: str, words: str, *, around: int = 60) -> str:
    lower = text.lower()
    at = min((found for word in words.lower().split() if (found := lower.find(word)) >= 0), default=0)
    cut = text[max(0, at - around) : at + around].replace("\n", " ")
    return ("…" if at > around else "") + cut + ("…" if at + around < len(text) else "")
