"""The search index, against what a search is by its definition."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.store.protocol import SessionRow
from hermes.store.search import RANKED
from hermes.store.sqlite_store import SqliteStore, open_store
from hermes.types.message import User

pytestmark = pytest.mark.anyio
WORDS = ("ash", "birch", "cedar", "elm")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@asynccontextmanager
async def opened(path: Path, *names: str) -> AsyncIterator[SqliteStore]:
    async with open_store(path / "s.db", path / "f.db") as store:
        for name in names:
            row = SessionRow(id=name, cwd="/w", model="m", source="cli", created=1.0, updated=1.0)
            await store.create(row, system="", tools=[])
        yield store


def said(name: str, text: str) -> User:
    return User(id=name, at=1.0, text=text)


def ranked(path: Path, words: str) -> list[int]:
    """The places of what holds all the words, best first, by the plain query."""
    query = " ".join(f'"{word}"' for word in words.split())
    with closing(sqlite3.connect(path / "f.db")) as db:
        found = db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid", (query,))
        return [place for (place,) in found]


@settings(max_examples=30, deadline=None)
@given(
    logs=st.lists(st.lists(texts, min_size=1, max_size=8), min_size=1, max_size=4),
    dropped=st.lists(st.integers(0, 3), max_size=4),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
    limit=st.integers(1, 12),
)
async def test_a_search_gives_the_best_of_what_is_there(
    logs: list[list[str]], dropped: list[int], words: str, limit: int
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder)
        async with opened(path, *(f"s{key}" for key in range(1, len(logs) + 1))) as store:
            there: dict[int, str] = {}
            for key, log in enumerate(logs, 1):
                await store.append(
                    f"s{key}", *(said(f"{key}/{number}", text) for number, text in enumerate(log, 1))
                )
                gone = min(len(log), (dropped + [0] * 4)[key - 1])
                await store.search("ash")  # what is dropped later has been indexed
                await store.drop_last(f"s{key}", gone)
                there |= {(key << 24) + number: f"{key}/{number}" for number in range(1, len(log) - gone + 1)}
            hits = await store.search(words, limit=limit)
            listed = {row.id: row.messages for row in await store.recent()}
        expected = [there[place] for place in ranked(path, words) if place in there][:limit]
        assert [hit.message.id for hit in hits] == expected
        assert [hit.session.id for hit in hits] == [f"s{name.split('/')[0]}" for name in expected]
        counts = [
            sum(name.startswith(f"{key}/") for name in there.values()) for key in range(1, len(logs) + 1)
        ]
        assert listed == {f"s{key}": count for key, count in enumerate(counts, 1)}


async def test_messages_that_were_taken_back_take_no_place_of_others(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", *(said(f"u{number}", f"elm {'oak ' * 40}") for number in range(15)))
        await store.append("one", *(said("gone", "elm") for _ in range(45)))
        await store.drop_last("one", 45)
        assert [hit.message.id for hit in await store.search("elm", limit=10)] == [
            f"u{number}" for number in range(10)
        ]


async def test_a_deleted_session_takes_no_place_of_others_however_many_messages_it_had(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, "kept", "deleted") as store:
        await store.append("kept", said("here", "elm"))
        await store.append("deleted", *(said(f"u{number}", "elm") for number in range(RANKED)))
        await store.search("elm")  # all of it is indexed
        await store.delete("deleted")
        assert [hit.message.id for hit in await store.search("elm")] == ["here"]


async def test_of_more_messages_than_are_ranked_those_of_the_last_sessions_are(tmp_path: Path) -> None:
    async with opened(tmp_path, "old", "new") as store:
        await store.append("old", said("best", "elm"))
        await store.append("new", *(said(f"u{number}", f"elm {'oak ' * 9}") for number in range(RANKED)))
        hits, all_of_them = await store.search("elm", limit=20), await store.search("elm", limit=RANKED + 1)
    assert [hit.message.id for hit in hits] == [f"u{number}" for number in range(20)]
    assert [hit.message.id for hit in all_of_them] == ["best", *(f"u{number}" for number in range(RANKED))]


async def test_an_index_that_is_far_behind_looks_once_for_the_sessions_that_are_not_in_it(
    tmp_path: Path,
) -> None:
    names = [f"s{number:02}" for number in range(40)]
    async with opened(tmp_path, *names) as store:
        for name in names:
            await store.append(name, *(said(f"{number}", f"elm {name}") for number in range(100)))
        asked: list[str] = []
        store._database.rows.set_trace_callback(asked.append)
        assert [len(await store.search(f"elm {name}", limit=200)) for name in ("s00", "s39")] == [100, 100]
        store._database.rows.set_trace_callback(None)
    listed = [one for one in asked if one.lstrip().startswith("SELECT key,\n  coalesce")]
    assert (
        len(listed) == 2
    )  # with what is behind, and after it; not for a search since which nothing was written


async def test_what_was_written_since_the_last_search_is_found_here_and_by_another_process(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, "one") as store, opened(tmp_path, "two") as other:
        found: list[list[str]] = []
        for writer, session, name in ((store, "one", "a"), (other, "two", "b"), (store, "one", "c")):
            await writer.append(session, said(name, "elm"))
            hits = [await reader.search("elm") for reader in (store, other, store)]
            found += [sorted(hit.message.id for hit in one) for one in hits]
    assert found == [*[["a"]] * 3, *[["a", "b"]] * 3, *[["a", "b", "c"]] * 3]
