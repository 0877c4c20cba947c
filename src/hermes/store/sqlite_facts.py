"""Facts in a SQLite file, found by full text and by how old they are."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from hermes.store.fact_file import open_facts
from hermes.store.fact_ranking import NEAR, relevances, telling
from hermes.store.facts import Fact, score
from hermes.store.index_text import asked, indexed, told
from hermes.store.presence import present
from hermes.store.protocol import Viewer

RANKED: Final = 100
"""Of more facts that hold the words, those of the most worth are looked at."""
WORTH: Final = 0.1
"""What is worth less than this share of the best, being older, is left out."""
EVERY: Final = -1
_decode: Final = msgspec.json.Decoder(Fact).decode
_COUNT: Final = "SELECT count(*) FROM facts WHERE origin = ?"
_HOLDING: Final = """
SELECT number, at FROM fact_words CROSS JOIN facts ON number = fact_words.rowid
WHERE fact_words MATCH ? AND origin = ? LIMIT ?
"""


class SqliteFacts:
    """A `FactStore`; `half_life` is in seconds, 0 for facts that do not grow old."""

    def __init__(self, path: Path, *, half_life: float) -> None:
        with ExitStack() as held:
            held.enter_context(present(path))  # who looks at the file meanwhile does so through SQLite
            self._database, self._half_life = open_facts(path), half_life
            self._presence = held.pop_all()
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
        """Those that fit; where there are none, those that hold any of the words."""
        if fitting := self.fitting(words, viewer, limit=limit, now=now):
            return fitting
        with self._database.faults():
            held = [self._holding(one, viewer, EVERY) for one in asked(words)]
            return self._best(held, self._count(viewer), viewer, limit, now)

    def fitting(self, message: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The best by the words that tell something, and by age."""
        with self._database.faults():
            facts, held = self._count(viewer), list[Mapping[int, float]]()
            for word in told(message):
                most = telling(word, facts)
                holding = self._holding(word, viewer, most + 1) if most else {}
                if len(holding) <= most:
                    held.append(holding)
            return self._best(held, facts, viewer, limit, now)

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

    @property
    def is_replaced(self) -> bool:
        """Whether the file was removed since it was opened, or another one is in its place."""
        return self._database.is_replaced

    def close(self) -> None:
        """Let go of the file."""
        with self._presence:
            self._database.checkpoints.run()
            self._database.close()

    def _best(
        self, held: Sequence[Mapping[int, float]], facts: int, viewer: Viewer, limit: int, now: float
    ) -> Sequence[Fact]:
        """Of the facts that hold each of some words, with their times, those that are worth telling."""
        relevant = relevances(held, facts)
        times = {number: at for one in held for number, at in one.items()}
        worth = {one: score(value, now - times[one], self._half_life) for one, value in relevant.items()}
        ranked = nlargest(RANKED, worth, key=lambda one: (worth[one], times[one], one))
        found = list(islice(self._visible(ranked, viewer), limit))
        nearest = NEAR * max((relevant[one] for one, _ in found), default=0)
        near = [(one, fact) for one, fact in found if relevant[one] >= nearest]
        return [fact for one, fact in near if worth[one] >= WORTH * worth[near[0][0]]]

    def _count(self, viewer: Viewer) -> int:
        """How many facts were noted for a person."""
        return int(self._rows.execute(_COUNT, (viewer.alone,)).fetchone()[0])

    def _holding(self, word: str, viewer: Viewer, most: int) -> Mapping[int, float]:
        """The facts that hold a word, as far as `most`, with when they were noted."""
        return dict(self._rows.execute(_HOLDING, (f'"{word}"', viewer.alone, most)).fetchall())

    def _visible(self, numbers: Sequence[int], viewer: Viewer) -> Iterator[tuple[int, Fact]]:
        """Those facts that somebody may be told and that nobody has removed meanwhile."""
        for number in numbers:
            row = self._rows.execute("SELECT body FROM facts WHERE number = ?", (number,)).fetchone()
            if row and (fact := _decode(row[0])).is_for(viewer):
                yield number, fact

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
