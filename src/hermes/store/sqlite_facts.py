"""Facts in a SQLite file, found by full text and by how old they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from hermes.store.database import Database
from hermes.store.facts import Fact, score
from hermes.store.index_text import asked, indexed
from hermes.store.protocol import Viewer

RANKED: Final = 200
"""Of more facts that match, the best by their words alone are weighed."""
WORTH: Final = 0.1
"""What is worth less than this share of the best is left out: it shares common words only."""
_COMMON: Final = re.compile(r"[a-z]{1,3}")
_MATCHING: Final = """
SELECT facts.body, -bm25(fact_words) FROM fact_words JOIN facts ON number = fact_words.rowid
WHERE fact_words MATCH ? AND origin = ? ORDER BY bm25(fact_words) LIMIT ?
"""


class SqliteFacts:
    """A `FactStore`; `half_life` is in seconds, 0 for facts that do not grow old."""

    def __init__(self, path: Path, *, half_life: float) -> None:
        self._database, self._half_life = Database(path, "facts"), half_life
        self._rows = self._database.rows

    def add(self, fact: Fact, stamp: str = "") -> None:
        """Keep a fact, with the stamp of the file that it was read from."""
        with self._database.transaction():
            for older in list(self._facts()):
                same = (older.text, older.origin) == (fact.text, fact.origin)
                if older.id == fact.id or (same and not stamp):
                    self._delete(older.id)
            row = (fact.id, msgspec.json.encode(fact), fact.origin, stamp)
            done = self._rows.execute("INSERT INTO facts (id, body, origin, stamp) VALUES (?,?,?,?)", row)
            words = (done.lastrowid, indexed(fact.text))
            self._rows.execute("INSERT INTO fact_words (rowid, body) VALUES (?, ?)", words)

    def find(self, words: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The best by relevance and age."""
        wanted = asked(words)
        telling = [word for word in wanted if not _COMMON.fullmatch(word)] or wanted
        query = " OR ".join(f'"{word}"' for word in telling)
        if not query:
            return []
        with self._database.faults():
            rows = self._rows.execute(_MATCHING, (query, viewer.origin, RANKED)).fetchall()
        found = ((msgspec.json.decode(body, type=Fact), relevance) for body, relevance in rows)
        scored = [
            (score(relevance, now - fact.at, self._half_life), fact)
            for fact, relevance in found
            if fact.is_for(viewer)
        ]
        best = max((worth for worth, _ in scored), default=0.0)
        ordered = sorted(scored, key=lambda one: (-one[0], one[1].id))
        return [fact for worth, fact in ordered if worth >= WORTH * best][:limit]

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

    def _facts(self) -> Iterator[Fact]:
        for (body,) in self._rows.execute("SELECT body FROM facts ORDER BY number"):
            yield msgspec.json.decode(body, type=Fact)

    def _delete(self, fact_id: str) -> None:
        found = self._rows.execute("DELETE FROM facts WHERE id = ? RETURNING number", (fact_id,)).fetchall()
        self._rows.executemany("DELETE FROM fact_words WHERE rowid = ?", found)
