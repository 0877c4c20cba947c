"""The search index, against what a search is by its definition."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.store.index_text import asked
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


SAID = {
    "latin": "the parser is unparseable, see src/hermes/store and my_function_name",
    "accents": "un café à Zürich",
    "cyrillic": "Соба́ка бежит по городу",
    "chinese": "我们明天去东京都看樱花",
    "korean": "내일 서울에서 만나요",
    "thai": "สวัสดีครับ",
    "emoji": "shipped it🎉today",
    "fullwidth": "ＡＢＣ１２３",
}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("parser", ["latin"]),
        ("parse", ["latin"]),
        ("arseab", ["latin"]),
        ("ermes/sto", ["latin"]),
        ("tion_na", ["latin"]),
        ('"is unparseable"', ["latin"]),
        ('"unparseable is"', ["latin"]),
        ("unparseable city", []),
        ("cafe", ["accents"]),
        ("ZÜRICH", ["accents"]),
        ("zuri", ["accents"]),
        ("город", ["cyrillic"]),
        ("собак", ["cyrillic"]),
        ("东京", ["chinese"]),
        ("京", ["chinese"]),
        ("京东", ["chinese"]),
        ("东京 樱花", ["chinese"]),
        ("서울", ["korean"]),
        ("สวัส", ["thai"]),
        ("🎉", ["emoji"]),
        ("🎂", []),
        ("shipped 🎉", ["emoji"]),
        ("abc123", ["fullwidth"]),
        ('" ( * OR', []),
        ("!?", []),
    ],
)
async def test_words_and_parts_of_words_are_found_in_any_script(
    tmp_path: Path, words: str, found: list[str]
) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", *(said(name, text) for name, text in SAID.items()))
        assert [hit.message.id for hit in await store.search(words)] == found


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60), query=st.text(max_size=40))
async def test_no_text_and_no_query_makes_a_search_fail(text: str, query: str) -> None:
    with TemporaryDirectory() as folder:
        async with opened(Path(folder), "one") as store:
            await store.append("one", said("a", text))
            assert {hit.message.id for hit in await store.search(query)} <= {"a"}


@settings(max_examples=60, deadline=None)
@given(
    text=st.text("ab 东京é🎉_-я", min_size=1, max_size=30), first=st.integers(0, 29), length=st.integers(3, 8)
)
async def test_what_stands_in_a_message_finds_it(text: str, first: int, length: int) -> None:
    piece = text[first : first + length].strip()
    with TemporaryDirectory() as folder:
        async with opened(Path(folder), "one") as store:
            await store.append("one", said("a", text))
            hits = [hit.message.id for hit in await store.search(piece)]
    long_enough = all(len(one) > 2 or one in asked(text) for one in re.findall(r"[abéя]+", piece))
    assert hits == (["a"] if asked(piece) and long_enough else hits)


async def test_what_holds_the_word_comes_before_what_holds_it_in_a_longer_one(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said("longer", "elmwood"), said("whole", "elm"))
        assert [hit.message.id for hit in await store.search("elm")] == ["whole", "longer"]


@pytest.mark.parametrize("harm", ["flipped", "cut", "emptied", "deleted", "tables gone"])
async def test_an_index_that_is_harmed_while_it_is_read_is_built_again(tmp_path: Path, harm: str) -> None:
    index = tmp_path / "f.db"
    async with opened(tmp_path, "one") as store:
        await store.append("one", *(said(f"u{number}", f"elm number{number}") for number in range(300)))
        assert len(await store.search("elm", limit=400)) == 300
        do_harm(index, harm)
        await store.append("one", said("last", "elm"))
        assert len(await store.search("elm", limit=400)) == 301
    do_harm(index, harm)
    async with opened(tmp_path) as store:
        assert len(await store.search("elm", limit=400)) == 301


def do_harm(index: Path, harm: str) -> None:
    """As a failing disk or another program would: to the file, of which others have an open handle."""
    match harm:
        case "deleted":
            for name in ("", "-wal", "-shm"):
                index.with_name(index.name + name).unlink(missing_ok=True)
        case "tables gone":
            with closing(sqlite3.connect(index)) as db:
                db.execute("DROP TABLE terms")
        case _:
            with closing(sqlite3.connect(index)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            data = bytearray(index.read_bytes())
            if harm == "flipped":
                data[1000:] = bytes(byte ^ 0xA5 for byte in data[1000:])
            index.write_bytes(bytes({"emptied": data[:0], "cut": data[: len(data) // 2]}.get(harm, data)))
