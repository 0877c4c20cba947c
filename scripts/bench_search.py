"""Search in 200,000 messages whose words are as common as those of ordinary text, beside a query by hand of a
table with a full-text index that ranks all that match.
"""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import accumulate
from statistics import median, quantiles
from typing import Any

from bench_floor import insert, open_store
from bench_measure import Row, folder, spent, stored_row

from hermes.store.protocol import Selection, SessionStore
from hermes.store.sqlite_store import open_store as open_ours
from hermes.types.message import User

SESSIONS, EACH, WORDS, VOCABULARY = 400, 500, 40, 20_000
QUERIES = 300
WITH_CONTEXT = Selection(kinds=("user",), around=2)
BY_HAND = """
SELECT messages.id, messages.body FROM words JOIN messages ON messages.id = words.rowid
WHERE words MATCH ? ORDER BY rank LIMIT 20
"""


async def search() -> list[Row]:
    """The median and the 95th of 100 of searches for one or two words, each as common as in the texts."""
    words = _words()
    with folder() as path, closing(open_store(path / "floor.db")) as by_hand:
        async with open_ours(path / "ours.db", path / "search.db") as kept:
            await _fill(kept, by_hand, words)
            await kept.search("indexed")
            asked = [" ".join({next(words) for _ in range(1 + number % 2)}) for number in range(QUERIES)]
            ours, hand = [], []
            for query in asked:
                ours.append(1e3 * (await spent(partial(kept.search, query))).wall)
                hand.append(1e3 * (await spent(partial(_query, by_hand, query))).wall)
            part = [
                1e3 * (await spent(partial(kept.search, next(words)[1:], select=WITH_CONTEXT))).wall
                for _ in range(QUERIES)
            ]
    what = f"search in {SESSIONS * EACH:,} messages, wall, "
    return [
        Row(what + "median", median(ours), None, median(hand), "ms", "≤ 2 ms"),
        Row(what + "95th of 100", *(_late(ours), None, _late(hand)), "ms", "≤ 20 ms"),
        Row(what + "part of a word, with context, 95th of 100", _late(part), unit="ms", goal="≤ 20 ms"),
    ]


def _words() -> Iterator[str]:
    """Words of a made-up language, the nth of which is as common as 1/n (Zipf), always the same ones."""
    chance = random.Random(7)  # noqa: S311  # nobody guesses these
    ranks = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    while True:
        yield from (f"w{rank}" for rank in chance.choices(range(VOCABULARY), cum_weights=ranks, k=1000))


async def _fill(kept: SessionStore, by_hand: sqlite3.Connection, words: Iterator[str]) -> None:
    for number in range(SESSIONS):
        texts = [" ".join(next(words) for _ in range(WORDS)) for _ in range(EACH)]
        await kept.create(stored_row(f"s{number}"), system="system", tools=[])
        await kept.append(
            f"s{number}", *(User(id=f"m{at}", at=float(at), text=text) for at, text in enumerate(texts))
        )
        by_hand.execute("BEGIN")
        for text in texts:
            insert(by_hand, ("s", "user", text), text)
        by_hand.execute("COMMIT")


async def _query(by_hand: sqlite3.Connection, query: str) -> list[Any]:
    return by_hand.execute(BY_HAND, (query,)).fetchall()


def _late(times: list[float]) -> float:
    return quantiles(times, n=20)[-1]
