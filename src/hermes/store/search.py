"""Full-text search over past sessions; an index outside the store that is brought up to date when it is
asked.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from hermes.store.database import Database
from hermes.store.index_text import asked, indexed, pieces, terms
from hermes.store.log_reader import LogReader
from hermes.store.protocol import EVERYBODY, Hit, Selection, SessionRow
from hermes.store.sessions import SHIFT, message_of
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

BATCH = 2000
RANKED = 1000
"""Of more messages that hold the words, those of the sessions begun last are ranked: it looks at each."""
ALL = -1
_BEST = """
SELECT rowid FROM (SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)
ORDER BY rank, rowid
"""
_BY_TIME: Final = {
    "newest": "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC",
    "oldest": "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid",
}
MOST_TERMS: Final = 64
"""Of more words that hold a part, the shortest are looked for."""
_LETTERS: Final = 3
_HOLDING = """
SELECT term FROM (SELECT term FROM parts WHERE parts MATCH ? LIMIT ?) ORDER BY length(term), term LIMIT ?
"""
_BEGUN = "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY term LIMIT ?"


class SearchIndex:
    """The index of one store. It may be deleted at any time: it is built again from the store's rows."""

    def __init__(self, path: Path, logs: LogReader) -> None:
        self._path, self._logs = path, logs
        try:
            self._database = Database(path, "search")
        except StoreError as error:
            if not is_damage(error):
                raise
            remove(path)
            self._database = Database(path, "search")
        self._rows = self._database.rows
        self._file = path.stat().st_ino
        self._behind: list[int] = []
        self._indexed: object = None

    @property
    def is_gone(self) -> bool:
        """Whether the file was deleted, or another one is in its place."""
        try:
            return self._path.stat().st_ino != self._file
        except FileNotFoundError:
            return True

    def find(self, words: str, limit: int, select: Selection) -> list[Hit]:
        """Messages that hold all the words, of those that are indexed; then those with words of which the
        words are parts. Of more than `RANKED` that hold them, the best of the sessions begun last come first.
        """
        wanted = asked(words)
        if not wanted:
            return []
        hits = _Hits(self._logs, select, limit)
        whole = " ".join(f'"{word}"' for word in wanted)
        if self._look(whole, hits, RANKED) >= RANKED and not hits.is_full:
            hits = _Hits(self._logs, select, limit)
            self._look(whole, hits, ALL)
        if not hits.is_full:
            self._look(self._as_parts(wanted), hits, RANKED)
        return hits.ranked(words)

    def _look(self, query: str, hits: "_Hits", most: int) -> int:
        """Offer the best of the last `most` messages that match; how many were looked at."""
        seen = 0
        with self._database.faults(), closing(self._rows.execute(*hits.ordered(query, most))) as ranked:
            while not hits.is_full and (rows := ranked.fetchmany(hits.missing)):
                seen += len(rows)
                hits.offer([place for (place,) in rows])
        return seen

    def _as_parts(self, words: Sequence[str]) -> str:
        """The query for messages that hold, for each piece of the words, a word that it is a part of."""
        wanted = dict.fromkeys(piece for word in words for piece in pieces(word))
        with self._database.faults():
            groups = [{piece, *self._terms_with(piece)} for piece in wanted]
        return " AND ".join("(" + " OR ".join(f'"{term}"' for term in group) + ")" for group in groups)

    def _terms_with(self, piece: str) -> list[str]:
        """Words that a piece is a part of; one of less than three letters stands at their beginning."""
        if len(piece) < _LETTERS:
            found = self._rows.execute(_BEGUN, (piece, piece + "\U0010ffff", MOST_TERMS))
        else:
            found = self._rows.execute(_HOLDING, (f'"{piece}"', RANKED, MOST_TERMS))
        return [term for (term,) in found]

    def catch_up(self) -> bool:
        """Index the next messages that were appended since the last time; whether there were any."""
        written = self._logs.written()  # first: what is written meanwhile is for the next time
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
        return [key for key, last in self._logs.last_places().items() if last > seen.get(key, 0)]

    def _index(self, key: int, limit: int) -> Sequence[tuple[int, str, bytes]]:
        """Index the next messages of a session; another process may have been faster with some."""
        done = self._rows.execute("SELECT last FROM progress WHERE session = ?", (key,)).fetchone()
        rows = self._logs.messages_after(key, done[0] if done else 0, limit)
        read = ((place, message_of(kind, body)) for place, kind, body in rows)
        texts = [(place, indexed(text_of(message))) for place, message in read if message is not None]
        self._rows.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", texts)
        fresh = {term for _, text in texts for term in terms(text)}
        self._rows.executemany("INSERT OR IGNORE INTO terms (term) VALUES (?)", ((one,) for one in fresh))
        if rows:
            self._rows.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (key, rows[-1][0]))
        return rows


class _Hits:
    """The hits of one search, as they are found: each message once, and only what was selected."""

    def __init__(self, logs: LogReader, select: Selection, limit: int) -> None:
        self._logs, self._select, self._limit = logs, select, limit
        self._found: dict[int, tuple[SessionRow, Message]] = {}
        self._visible: dict[int, bool] = {}

    @property
    def missing(self) -> int:
        """How many hits are still wanted."""
        return self._limit - len(self._found)

    @property
    def is_full(self) -> bool:
        """Whether no more are wanted."""
        return self.missing <= 0

    def ordered(self, query: str, most: int) -> tuple[str, tuple[object, ...]]:
        """The statement for the places of what matches, in the order that was selected, and its values."""
        if self._select.order == "best":
            return _BEST, (query, most)
        return _BY_TIME[self._select.order], (query,)

    def offer(self, places: Sequence[int]) -> None:
        """Take the messages at those places that were selected."""
        new = [one for one in places if one not in self._found and self._may_see(one >> SHIFT)]
        for place, session, message in self._logs.messages_at(new):
            kinds = self._select.kinds
            if message.id not in self._select.unseen and (not kinds or message.kind in kinds):
                self._found[place] = (session, message)

    def ranked(self, words: str) -> list[Hit]:
        """What was found, with what stands around it."""
        return [self._hit(place, *found, words) for place, found in self._found.items()]

    def _hit(self, place: int, session: SessionRow, message: Message, words: str) -> Hit:
        before, after = self._logs.neighbours(place, self._select.around)
        return Hit(
            session=session,
            message=message,
            snippet=snippet(text_of(message), words),
            number=self._logs.number_of(place),
            before=before,
            after=after,
        )

    def _may_see(self, key: int) -> bool:
        viewer = self._select.viewer
        if key not in self._visible:
            self._visible[key] = viewer == EVERYBODY or self._logs.is_visible(key, viewer)
        return self._visible[key]


def is_damage(error: StoreError) -> bool:
    """Whether a fault of the index is in its file and not around it: then it is built again. Its statements
    are right, so one that is said to be wrong finds a table missing or broken.
    """
    cause = error.__cause__
    wrong = isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode == sqlite3.SQLITE_ERROR
    return wrong or isinstance(error, StorageDamaged)


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
    """The text around the first of the words, or of what they are made of."""
    lower = text.lower()
    whole = [lower.find(word.strip('"')) for word in words.lower().split()]
    parts = (lower.find(piece) for word in asked(words) for piece in pieces(word))
    at = min((one for one in whole if one >= 0), default=-1)
    at = at if at >= 0 else min((one for one in parts if one >= 0), default=0)
    cut = text[max(0, at - around) : at + around].replace("\n", " ")
    return ("…" if at > around else "") + cut + ("…" if at + around < len(text) else "")
