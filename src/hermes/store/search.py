"""Full-text search over past sessions; an index outside the store that is brought up to date when it is
asked.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hermes.lib.text import mend_surrogates
from hermes.store.database import Database
from hermes.store.protocol import Hit
from hermes.store.sessions import SessionTables, message_of
from hermes.types.error import StorageDamaged
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

BATCH = 2000
RANKED = 1000
"""Of more messages that hold the words, those of the sessions begun last are ranked: it looks at each."""
ALL = -1
_BEST = """
SELECT rowid FROM (SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)
ORDER BY rank, rowid
"""


class SearchIndex:
    """The index of one store. It may be deleted at any time: it is built again from the store's rows."""

    def __init__(self, path: Path, sessions: SessionTables) -> None:
        self._path, self._sessions = path, sessions
        try:
            self._database = Database(path, "search")
        except StorageDamaged:
            remove(path)
            self._database = Database(path, "search")
        self._rows = self._database.rows
        self._behind: list[int] = []
        self._indexed: object = None

    def find(self, words: str, limit: int) -> list[Hit]:
        """Messages that hold all the words, best first, of those that are indexed: of more than `RANKED`,
        those of the sessions begun last, as long as `limit` of them are still there.
        """
        words = mend_surrogates(words).replace("\0", " ")
        if not words.split():
            return []
        hits, seen = self._ranked(words, RANKED, limit)
        return hits if len(hits) == limit or seen < RANKED else self._ranked(words, ALL, limit)[0]

    def _ranked(self, words: str, most: int, limit: int) -> tuple[list[Hit], int]:
        """The best hits among the last `most` messages that hold the words, and how many were looked at."""
        query = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
        hits: list[Hit] = []
        seen = 0
        with self._database.faults(), closing(self._rows.execute(_BEST, (query, most))) as ranked:
            while len(hits) < limit and (rows := ranked.fetchmany(limit - len(hits))):
                seen += len(rows)
                hits += [
                    Hit(session=session, message=message, snippet=snippet(text_of(message), words))
                    for session, message in self._sessions.messages_at([place for (place,) in rows])
                ]
        return hits, seen

    def catch_up(self) -> bool:
        """Index the next messages that were appended since the last time; whether there were any."""
        written = self._sessions.written()  # first: what is written meanwhile is for the next time
        if written == self._indexed:
            return False
        left, behind = BATCH, self._behind or self._sessions_behind()
        if not behind:
            self._indexed = written
            return False
        with self._database.transaction():
            while behind and left:
                rows = self._index(behind[-1], left)
                left -= len(rows)
                if left:
                    behind.pop()
        self._behind = behind
        self._database.checkpoints.run()
        return True

    def close(self) -> None:
        """Let go of the index's file."""
        self._database.checkpoints.run()
        self._database.close()

    def _sessions_behind(self) -> list[int]:
        """The keys of the sessions that have messages which are not indexed."""
        with self._database.faults():
            seen: dict[int, int] = dict(self._rows.execute("SELECT session, last FROM progress"))
        return [key for key, last in self._sessions.last_places().items() if last > seen.get(key, 0)]

    def _index(self, key: int, limit: int) -> Sequence[tuple[int, str, bytes]]:
        """Index the next messages of a session; another process may have been faster with some."""
        done = self._rows.execute("SELECT last FROM progress WHERE session = ?", (key,)).fetchone()
        rows = self._sessions.messages_after(key, done[0] if done else 0, limit)
        read = ((place, message_of(kind, body)) for place, kind, body in rows)
        texts = [(place, text_of(message)) for place, message in read if message is not None]
        self._rows.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", texts)
        if rows:
            self._rows.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (key, rows[-1][0]))
        return rows


def remove(path: Path) -> None:
    """Remove an index, which can be built again, with what SQLite keeps beside it."""
    for name in ("", "-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)


def text_of(message: Message) -> str:
    """The words of a message that a search should find."""
    match message:
        case User(text=text) | Compaction(summary=text) | ToolResult(content=text):
            return text
        case Assistant():
            return "\n".join([message.text, *(f"{call.name} {call.raw}" for call in message.calls)])


def snippet(text: str, words: str, *, around: int = 60) -> str:
    """The text around the first of the words."""
    lower = text.lower()
    at = min((found for word in words.lower().split() if (found := lower.find(word)) >= 0), default=0)
    cut = text[max(0, at - around) : at + around].replace("\n", " ")
    return ("…" if at > around else "") + cut + ("…" if at + around < len(text) else "")
