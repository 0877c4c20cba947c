"""Facts in a SQLite file, found by full text and by how old they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from hermes.store.database import Database
from hermes.store.facts import Fact, score
from hermes.store.index_text import asked, indexed
from hermes.store.protocol import Viewer

RANKED: Final = 100
"""Of more facts that match, the best by their words alone are weighed."""
MANY: Final = 200
"""Words that more facts hold, or a fifth of them all, tell nothing; where there are others they are left
out.
"""
WORTH: Final = 0.1
"""What is worth less than this share of the best is left out: it shares common words only."""
_COUNT: Final = "SELECT count(*) FROM (SELECT 1 FROM fact_words WHERE fact_words MATCH ? LIMIT ?)"
_decode: Final = msgspec.json.Decoder(Fact).decode
_SHORT: Final = re.compile(r"[a-z]{1,3}")
_MATCHING: Final = """
SELECT facts.body, at, -rank FROM fact_words CROSS JOIN facts ON number = fact_words.rowid
WHERE fact_words MATCH ? AND origin = ? ORDER BY rank LIMIT ?
"""


class SqliteFacts:
    """A `FactStore`; `half_life` is in seconds, 0 for facts that do not grow old."""

    def __init__(self, path: Path, *, half_life: float) -> None:
        self._database, self._half_life = Database(path, "facts"), half_life
        self._rows = self._database.rows

    def add(self, fact: Fact) -> str:
        """Keep a fact."""
        with self._database.transaction():
            for older in list(self._facts()):
                if (older.text, older.origin) == (fact.text, fact.origin):
                    self._delete(older.id)
            self._insert(fact, "")
        return fact.id

    def put(self, fact: Fact, stamp: str) -> None:
        """Keep what a file says, with the file's stamp."""
        with self._database.transaction():
            self._delete(fact.id)
            self._insert(fact, stamp)

    def find(self, words: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The best by relevance and age."""
        wanted = asked(words)
        if not wanted:
            return []
        with self._database.faults():
            query = _any_of(self._telling(wanted))
            rows = self._rows.execute(_MATCHING, (query, viewer.origin, RANKED)).fetchall()
        scored = sorted(
            ((score(relevance, now - at, self._half_life), body) for body, at, relevance in rows),
            reverse=True,
        )
        facts = ((worth, _decode(body)) for worth, body in scored)
        found = list(islice(((worth, fact) for worth, fact in facts if fact.is_for(viewer)), limit))
        return [fact for worth, fact in found if worth >= WORTH * found[0][0]]

    def everything(self) -> Sequence[Fact]:
        """All facts."""
        with self._database.faults():
            return list(self._facts())

    def stamps(self) -> Mapping[str, str]:
        """The stamps of all facts, by their ids."""
        with self._database.faults():
            return dict(self._rows.execute("SELECT id, stamp FROM facts"))

    def remove(self, fact_id: str, viewer: Viewer) -> bool:
        """Forget a fact."""
        with self._database.transaction():
            mine = any(one.id == fact_id and one.is_for(viewer) for one in self._facts())
            if mine:
                self._delete(fact_id)
        return mine

    def drop(self, fact_id: str) -> None:
        """Forget a fact whose file is gone."""
        with self._database.transaction():
            self._delete(fact_id)

    def close(self) -> None:
        """Let go of the file."""
        self._database.checkpoints.run()
        self._database.close()

    def _telling(self, words: Sequence[str]) -> Sequence[str]:
        """The words that few facts hold; where there are none, all but the shortest."""
        few = min(MANY, self._rows.execute("SELECT count(*) FROM facts").fetchone()[0] // 5)
        most = {word: few if _SHORT.fullmatch(word) else max(3, few) for word in words}
        rare = [word for word in words if 0 < self._count(word, most[word] + 1) <= most[word]]
        return rare or [word for word in words if not _SHORT.fullmatch(word)] or words

    def _count(self, word: str, most: int) -> int:
        """How many facts hold a word, as far as `most`."""
        return int(self._rows.execute(_COUNT, (f'"{word}"', most)).fetchone()[0])

    def _facts(self) -> Iterator[Fact]:
        for (body,) in self._rows.execute("SELECT body FROM facts ORDER BY number"):
            yield _decode(body)

    def _insert(self, fact: Fact, stamp: str) -> None:
        row = (fact.id, msgspec.json.encode(fact), fact.at, fact.origin, stamp)
        done = self._rows.execute("INSERT INTO facts (id, body, at, origin, stamp) VALUES (?,?,?,?,?)", row)
        words = (done.lastrowid, indexed(fact.text))
        self._rows.execute("INSERT INTO fact_words (rowid, body) VALUES (?, ?)", words)

    def _delete(self, fact_id: str) -> None:
        found = self._rows.execute("DELETE FROM facts WHERE id = ? RETURNING number", (fact_id,)).fetchall()
        self._rows.executemany("DELETE FROM fact_words WHERE rowid = ?", found)


def _any_of(words: Sequence[str]) -> str:
    """The query for facts that hold any of the words."""
    return " OR ".join(f'"{word}"' for word in words)
