import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.lib import sqlite
from hermes.store.migrations import scripts
from hermes.store.protocol import Owner, SessionRow, StoredQuestion, UsageEntry
from hermes.store.sessions import MESSAGES
from hermes.store.sqlite_store import SqliteStore, open_store
from hermes.types.error import SessionOwned, StorageDamaged, StoreError
from hermes.types.message import Assistant, ContextBlock, ToolCall, ToolResult, User
from hermes.types.question import Clarify, Deny, Reply
from hermes.types.usage import Usage

pytestmark = pytest.mark.anyio


def row(name: str, **more: object) -> SessionRow:
    plain = SessionRow(id=name, cwd="/w", model="m", source="cli", created=1.0, updated=1.0)
    return replace(plain, **more)


@asynccontextmanager
async def opened(path: Path, *names: str) -> AsyncIterator[SqliteStore]:
    async with open_store(path / "s.db", path / "f.db") as store:
        for name in names:
            await store.create(row(name), system="be good", tools=[{"function": {"name": "t"}}])
        yield store


def said(number: int, text: str = "hello") -> User:
    return User(id=f"u{number}", at=float(number), text=text)


def entry(day: str = "2026-11-22") -> UsageEntry:
    used = Usage(input_tokens=100, output_tokens=10, requests=1, cost=0.25)
    return UsageEntry(
        day=day, session="one", task="chat", provider="p", model="m", usage=used, counted=0.3, failed=False
    )


def read(path: Path, query: str) -> list[tuple[object, ...]]:
    """What another process finds in the file."""
    db = sqlite3.connect(path)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


async def until(found: Callable[[], bool]) -> None:
    """Wait for what a thread does by itself; the test's time limit ends it otherwise."""
    while not found():  # noqa: ASYNC110  # nothing tells of it
        await anyio.sleep(0.01)


async def ids(store: SqliteStore, session: str = "one") -> list[str]:
    return [message.id for message in (await store.load(session)).log]


@given(
    st.text(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dictionaries(st.text(), st.none() | st.integers(-(2**53), 2**53) | st.text()),
)
def test_the_codec_gives_back_what_it_was_given(text: str, at: float, arguments: dict[str, object]) -> None:
    clean = text.encode("utf-8", "replace").decode()
    message = Assistant(
        id="a",
        at=at,
        text=clean,
        calls=(
            ToolCall(
                id="c",
                name="t",
                arguments={
                    k.encode("utf-8", "replace").decode(): v.encode("utf-8", "replace").decode()
                    if isinstance(v, str)
                    else v
                    for k, v in arguments.items()
                },
            ),
        ),
    )
    assert MESSAGES.decode(MESSAGES.encode(message)) == message


async def test_two_processes_cannot_write_to_one_session(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as mine, opened(tmp_path) as theirs:
        await mine.append("one", said(1))
        await theirs.load("one")
        await theirs.append("one", said(2))
        with pytest.raises(StoreError, match="used by another process; nothing was written"):
            await mine.append("one", said(3))
        assert await ids(theirs) == ["u1", "u2"]


async def test_dropped_messages_stay_in_the_file(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", *(said(number) for number in range(4)))
        await store.drop_last("one", 2)
    assert read(tmp_path / "s.db", "SELECT count(*), sum(dropped) FROM messages") == [(4, 2)]


async def test_a_day_is_counted_over_all_processes(tmp_path: Path) -> None:
    async with opened(tmp_path) as mine, opened(tmp_path) as theirs:
        for store in (mine, theirs):
            store.count(entry())
            await store.used_by("one")
        for store in (mine, theirs):
            tokens, money = await store.counted_on("2026-11-22")
            assert (tokens, round(money, 9)) == (220, 0.6)


async def test_what_was_counted_is_written_soon_without_another_call(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        store.count(entry())
        await until(lambda: read(tmp_path / "s.db", "SELECT requests FROM usage") == [(1,)])


async def test_what_was_counted_is_written_at_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        store.count(entry())
    assert read(tmp_path / "s.db", "SELECT requests FROM usage") == [(1,)]


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        pass
    with pytest.raises(StoreError, match="is closed; open the store again"):
        await store.recent()
    await store.close()


@contextmanager
def broken(folder: Path, what: str, name: str = "s.db") -> Iterator[None]:
    """Within this, writing `what` fails in the file."""
    with sqlite3.connect(folder / name) as db:
        db.execute(f"CREATE TRIGGER t BEFORE {what} BEGIN SELECT RAISE(ABORT, 'disk fault'); END")
    yield
    with sqlite3.connect(folder / name) as db:
        db.execute("DROP TRIGGER t")


# ---------------------------------------------------------------------- transactions


async def test_a_delete_that_fails_in_the_middle_leaves_nothing_open(tmp_path: Path) -> None:
    """A trigger fails the last of its three statements: what is written after it is there for all, and stays."""
    async with opened(tmp_path, "one", "two") as store:
        await store.append("one", said(1))
        await store.append("two", said(2))
        with broken(tmp_path, "DELETE ON sessions"), pytest.raises(StoreError, match="disk fault"):
            await store.delete("one")
        await store.append("two", said(3))
        count = "SELECT count(*) FROM messages"
        assert read(tmp_path / "s.db", count) == [(3,)]
    assert read(tmp_path / "s.db", count) == [(3,)]


async def test_an_index_that_fails_in_the_middle_can_be_used_again(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1, "needle"))
        assert len(await store.search("needle")) == 1
        await store.append("one", said(2, "needle"))
        with broken(tmp_path, "INSERT ON progress", "f.db"), pytest.raises(StoreError, match="disk fault"):
            await store.search("needle")
        assert sorted(hit.message.id for hit in await store.search("needle")) == ["u1", "u2"]
        assert read(tmp_path / "f.db", "SELECT count(*) FROM progress") == [(1,)]


ASKED = Assistant(id="a1", at=2.0, text="", calls=(ToolCall(id="c", name="t", arguments={}),))
RESULT = ToolResult(id="r1", at=3.0, call_id="c", name="t", content="ok")
Write = Callable[[SqliteStore], Awaitable[None]]
APPEND: Write = lambda store: store.append("one", said(7), said(8))  # noqa: E731
SETTLE: Write = lambda store: store.settle("one", RESULT)  # noqa: E731
BEGIN: Write = lambda store: store.begin("one", "d", "t", "d")  # noqa: E731
FINISH: Write = lambda store: store.finish("one", RESULT)  # noqa: E731
RENAME: Write = lambda store: store.update("one", title="new")  # noqa: E731
FREE: Write = lambda store: store.update("one", mode="{}")  # noqa: E731


@pytest.mark.parametrize(
    ("what", "write", "log", "begun", "requests"),
    [
        (
            "INSERT ON messages WHEN CAST(new.body AS TEXT) LIKE '%u8%'",
            APPEND,
            ["u1", "a1", "u7", "u8"],
            {"c": None},
            0,
        ),
        ("INSERT ON messages WHEN new.kind = 'tool_result'", SETTLE, ["u1", "a1", "r1"], {}, 0),
        ("DELETE ON intents", SETTLE, ["u1", "a1", "r1"], {}, 0),
        ("INSERT ON intents", BEGIN, ["u1", "a1"], {"c": None, "d": None}, 0),
        ("INSERT ON intents", FINISH, ["u1", "a1"], {"c": RESULT}, 0),
        ("INSERT ON usage", RENAME, ["u1", "a1"], {"c": None}, 1),
    ],
)
async def test_after_a_write_that_failed_the_same_write_goes_through(
    tmp_path: Path,
    what: str,
    write: Write,
    log: list[str],
    begun: dict[str, ToolResult | None],
    requests: int,
) -> None:
    """Nothing of the write that failed is in the file, and what the store knows of the log agrees with it."""
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1), ASKED)
        await store.begin("one", "c", "t", "d")
        for _ in range(requests):
            store.count(entry())
        with broken(tmp_path, what), pytest.raises(StoreError, match="disk fault"):
            await write(store)
        assert read(tmp_path / "s.db", "SELECT count(*) FROM messages") == [(2,)]
        await write(store)
        stored = await store.load("one")
        assert [message.id for message in stored.log] == log
        assert (stored.begun, stored.used.requests) == (begun, requests)


@pytest.mark.parametrize("what", ["INSERT ON sessions", "INSERT ON messages"])
async def test_a_first_message_that_failed_can_be_written_again(tmp_path: Path, what: str) -> None:
    async with opened(tmp_path, "one") as store:
        with broken(tmp_path, what), pytest.raises(StoreError, match="disk fault"):
            await store.append("one", said(1))
        assert await store.recent() == []
        await store.append("one", said(1))
        assert await ids(store) == ["u1"]


# ---------------------------------------------------------------------- owners

ME, OTHER = (Owner(pid=pid, host="h", app="cli", since=0.0) for pid in (7, 8))


async def test_a_session_that_another_store_has_is_neither_claimed_nor_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as mine, opened(tmp_path) as theirs:
        await mine.append("one", said(1))
        await mine.claim("one", ME)
        with pytest.raises(SessionOwned, match=r"open in cli \(process 7 on h, since") as raised:
            await theirs.claim("one", OTHER)
        assert (raised.value.pid, await theirs.owner_of("one")) == (7, ME)
        with pytest.raises(SessionOwned):
            await theirs.delete("one")
        assert len((await theirs.load("one")).log) == 1
        await mine.release("one")
        await theirs.claim("one", OTHER)
        assert await mine.owner_of("one") == OTHER


async def test_a_store_that_is_closed_gives_its_sessions_back(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as mine:
        await mine.claim("one", ME)
    assert list(tmp_path.glob("s.locks/*")) == []


async def test_a_session_that_was_taken_is_written_to_by_its_new_owner_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as mine, opened(tmp_path) as theirs:
        await mine.append("one", said(1))
        await mine.claim("one", ME)
        await theirs.evict("one")
        await theirs.claim("one", OTHER)
        await theirs.update("one", title="theirs", goal="{}", mode='{"planning":true}')
        for write in (APPEND, SETTLE, BEGIN, FINISH, RENAME, FREE):
            with pytest.raises(StoreError, match="Session one was taken over by another process"):
                await write(mine)
        kept = await theirs.read("one")
        assert (kept.row.title, kept.goal, kept.mode) == ("theirs", "{}", '{"planning":true}')
        await mine.release("one")
        assert await mine.owner_of("one") == OTHER


async def test_an_answer_is_taken_once_and_by_the_owner_of_its_session_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as mine, opened(tmp_path) as theirs:
        await mine.append("one", said(1))
        await mine.claim("one", ME)
        asked = StoredQuestion(id="q", session="one", question=Clarify(text="?"), to="cli", asked=1.0)
        await mine.ask(asked)
        await theirs.evict("one")
        await theirs.claim("one", OTHER)
        assert await theirs.answer("q", Reply(text="yes"), by="cli", at=2.0)
        with pytest.raises(StoreError, match="Session one was taken over by another process"):
            await mine.end_question("q", "expired")
        used = replace(asked, state="used", answer=Reply(text="yes"), by="cli")
        assert [await theirs.end_question("q", "expired") for _ in range(2)] == [used, None]


# ---------------------------------------------------------------------- questions


async def test_a_question_that_cannot_be_read_is_ended_and_an_answer_that_cannot_is_a_no(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        whole, *_ = asked = [
            StoredQuestion(id=name, session="one", question=Clarify(text=name), to="cli", asked=1.0)
            for name in ("a whole one", "answered", "damaged")
        ]
        for one in asked:
            await store.ask(one)
        assert await store.answer("answered", Reply(text="yes"), by="cli", at=2.0)
        with sqlite3.connect(tmp_path / "s.db") as rows:
            rows.execute("UPDATE questions SET question = x'7b' WHERE id = 'damaged'")
            rows.execute(
                """UPDATE questions SET answer = '{"kind":"deny","reason":null}' WHERE answer NOTNULL"""
            )
        rows.close()
        no = Deny(reason="The answer that was kept cannot be read, so it is no; ask again.")
        left = [whole, replace(asked[1], state="answered", answer=no, by="cli")]
        assert (await store.questions(), await store.question("damaged")) == (left, None)
        assert not await store.answer("damaged", Reply(text="yes"), by="cli", at=2.0)


# ---------------------------------------------------------------------- waiting


async def test_a_lock_that_another_holds_stops_nothing_but_the_write(tmp_path: Path) -> None:
    """While one write waits for the lock, other tasks go on; when the lock is free, the write is done."""
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        lock = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        turns = 0
        async with anyio.create_task_group() as group:
            group.start_soon(store.append, "one", said(2))
            for _ in range(20):
                await anyio.sleep(0.005)
                turns += 1
            assert read(tmp_path / "s.db", "SELECT count(*) FROM messages") == [(1,)]
            lock.execute("COMMIT")
        lock.close()
        assert turns == 20
        assert await ids(store) == ["u1", "u2"]


async def test_of_writes_that_wait_together_the_one_that_may_not_be_fails_alone(tmp_path: Path) -> None:
    """The others are in the file, in the order in which they were asked for."""
    faults = list[str]()
    async with opened(tmp_path, "one", "two", "new") as store, opened(tmp_path) as theirs:
        await store.append("one", said(1))
        await store.append("two", said(1))
        await store.claim("two", ME)
        await theirs.evict("two")
        lock = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")

        async def taken() -> None:
            with pytest.raises(StoreError, match="Session two was taken over") as fault:
                await store.append("two", said(2))
            faults.append(str(fault.value))

        async with anyio.create_task_group() as group:
            for write in (
                partial(store.append, "one", said(2)),
                partial(store.append, "new", said(1)),
                taken,
                partial(store.update, "new", title="named"),
                partial(store.append, "one", said(3)),
                partial(store.append, "new", said(2)),
            ):
                group.start_soon(write)
                await anyio.wait_all_tasks_blocked()
            lock.execute("COMMIT")
        lock.close()
        assert len(faults) == 1
        logs = {name: [one.id for one in (await store.load(name)).log] for name in ("one", "two", "new")}
        assert logs == {"one": ["u1", "u2", "u3"], "two": ["u1"], "new": ["u1", "u2"]}
        assert (await store.read("new")).row.title == "named"


async def test_a_write_under_way_ends_before_a_cancellation_arrives(tmp_path: Path) -> None:
    """The caller always learns that its message is in the store; the next await is cancelled."""
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        lock = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        seen = []

        async def write() -> None:
            await store.append("one", said(2))
            seen.append("written")
            await anyio.lowlevel.checkpoint()
            seen.append("not reached")

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            lock.execute("COMMIT")
        lock.close()
        assert seen == ["written"]
        assert await ids(store) == ["u1", "u2"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_knows_no_shields_arrives_after_the_write_too(tmp_path: Path) -> None:
    import asyncio  # its own way of cancelling

    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        lock = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        seen = []

        async def write() -> None:
            await store.append("one", said(2))
            seen.append("written")
            await asyncio.sleep(0)

        task = asyncio.ensure_future(write())
        await anyio.wait_all_tasks_blocked()
        task.cancel()
        await asyncio.sleep(0)
        lock.execute("COMMIT")
        lock.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (seen, task.cancelling()) == (["written"], 1)
        assert await ids(store) == ["u1", "u2"]


# ---------------------------------------------------------------------- the write-ahead log

SHORT_RUN = """
import sys
from pathlib import Path
import anyio
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import User

async def main(folder, name):
    async with open_store(folder / "s.db", folder / "f.db") as store:
        row = SessionRow(id=name, cwd="", model="", created=0.0, updated=0.0)
        await store.create(row, system="x" * 20_000, tools=[])
        for number in range(12):
            await store.append(name, User(id=f"u{number}", at=0.0, text="y" * 20_000))

for number in range(int(sys.argv[3])):
    anyio.run(main, Path(sys.argv[1]), f"{sys.argv[2]}-{number}")
"""


def log_size(path: Path) -> int:
    log = path / "s.db-wal"
    return log.stat().st_size if log.exists() else 0


async def test_the_write_ahead_log_stays_small_while_another_process_has_the_file_open(
    tmp_path: Path,
) -> None:
    """Sixty short runs, of which none is the last to close the file; the bound is the limit and one run's writes."""
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        largest = 0
        for batch in range(6):
            words = [sys.executable, "-c", SHORT_RUN, str(tmp_path), str(batch), "10"]
            subprocess.run(words, check=True, timeout=60)
            largest = max(largest, log_size(tmp_path))
        assert len(await store.recent(limit=100)) == 61
    assert largest < sqlite.LOG_BYTES + (1 << 20)


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    db.execute(statement).fetchone()
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holding(path: Path, *statements: str) -> Iterator[Callable[[], None]]:
    """Another process with the file open, which has run the first statement; the next when it is told to."""
    words = [sys.executable, "-c", HOLDER, str(path / "s.db"), *statements]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        told, tells = process.stdin, process.stdout
        assert told is not None
        assert tells is not None
        tells.readline()

        def go_on() -> None:
            told.write("\n")
            told.flush()
            tells.readline()

        try:
            yield go_on
        finally:
            told.close()


async def grown(store: SqliteStore, path: Path, megabytes: int) -> int:
    """How large the log was at most while so much was appended without a pause."""
    largest = 0
    for number in range(megabytes * 4):
        await store.append("one", said(number, "z" * (1 << 18)))
        largest = max(largest, log_size(path))
    return largest


async def test_the_write_ahead_log_is_bounded_while_much_is_written_without_a_pause(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        with holding(tmp_path, "SELECT count(*) FROM messages"):
            assert await grown(store, tmp_path, 40) < 2 * sqlite.BUSY_LOG_BYTES


async def test_the_write_ahead_log_begins_anew_when_another_process_lets_go_of_what_it_had(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        read_it = "SELECT count(*) FROM messages"
        with holding(tmp_path, "BEGIN", read_it, "COMMIT") as go_on:
            go_on()
            kept = await grown(store, tmp_path, 20)
            assert kept > 2 * sqlite.BUSY_LOG_BYTES
            go_on()
            await grown(store, tmp_path, 2)
            assert log_size(tmp_path) < sqlite.BUSY_LOG_BYTES


async def test_the_index_of_a_search_leaves_no_large_log(tmp_path: Path) -> None:
    async with opened(tmp_path, "one", "two") as store:
        for name in ("one", "two"):
            await store.append(name, *(said(number, f"w{number} " * 2000) for number in range(1500)))
        await store.search("w7")
        log = tmp_path / "f.db-wal"
        assert log.stat().st_size < sqlite.LOG_BYTES


async def test_the_write_ahead_log_shrinks_again_after_a_reader_kept_it(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1))
        reader = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        for number in range(8):
            await store.append("one", said(number, "z" * (1 << 20)))
        assert log_size(tmp_path) > sqlite.LOG_BYTES
        reader.execute("COMMIT")
        reader.close()
        for number in range(6):
            await store.append("one", said(number, "z" * (1 << 20)))
        await until(lambda: log_size(tmp_path) <= sqlite.LOG_BYTES)


# ---------------------------------------------------------------------- damage


async def test_the_index_can_be_deleted_at_any_time(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", said(1, "needle in a haystack"))
        (tmp_path / "f.db").write_bytes(b"this is no database, it was damaged" * 200)
        (hit,) = await store.search("needles")
        assert (hit.message.id, hit.snippet) == ("u1", "needle in a haystack")


@pytest.mark.parametrize("body", ["{", "", '{"kind":"user","id":1}'])
async def test_one_message_that_cannot_be_read_is_passed_over_and_named(tmp_path: Path, body: str) -> None:
    async with opened(tmp_path, "one", "two") as store:
        await store.append("one", said(1, "needle one"), ASKED, RESULT, said(4, "needle four"))
        await store.append("two", said(2, "needle two"))
        with sqlite3.connect(tmp_path / "s.db") as db:
            db.execute(
                "UPDATE messages SET body = CAST(? AS BLOB) WHERE place & 3 = 0 AND kind = 'user'", (body,)
            )
        assert [found.id for found in await store.recent()] == ["two", "one"]
        assert sorted(hit.message.id for hit in await store.search("needle")) == ["u1", "u2"]
        stored = await store.read("one")
        assert ([message.id for message in stored.log], stored.unreadable) == (["u1", "a1", "r1"], (4,))
        with pytest.raises(
            StorageDamaged, match=r"Session one cannot go on: its message 4 in .* cannot be read"
        ):
            await store.load("one")
        assert await ids(store, "two") == ["u2"]


async def test_an_index_that_is_damaged_is_built_again(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.append("one", *(said(number, f"needle {'word ' * 50}{number}") for number in range(200)))
        assert len(await store.search("needle")) == 20
    data = bytearray((tmp_path / "f.db").read_bytes())
    data[4096:] = b"\x55" * (len(data) - 4096)
    (tmp_path / "f.db").write_bytes(bytes(data))
    async with opened(tmp_path) as store:
        assert len(await store.search("needle")) == 20


async def test_a_store_that_was_emptied_is_not_a_new_one(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        await store.claim("one", ME)
        await store.append("one", said(1))
    (tmp_path / "s.db").write_bytes(b"")
    with pytest.raises(StorageDamaged, match="has lost all that was in it, and sessions were kept in it"):
        async with opened(tmp_path):
            pass
    (tmp_path / "s.db").unlink()
    async with opened(tmp_path) as store:
        assert await store.recent() == []


async def test_sessions_of_an_older_version_keep_their_order(tmp_path: Path) -> None:
    old = sqlite.connect(tmp_path / "s.db", scripts("sessions")[:2])
    for key, name, at in ((1, "last", 30), (2, "first", 10), (3, "second", 20)):
        old.execute("INSERT INTO sessions (key, id, created) VALUES (?, ?, 0)", (key, name))
        old.execute(
            "INSERT INTO messages (place, kind, body) VALUES (?, 'user', ?)",
            ((key << 24) + 1, b'{"at":%d}' % at),
        )
    old.close()
    async with opened(tmp_path) as store:
        assert [found.id for found in await store.recent()] == ["last", "second", "first"]


async def test_damage_is_never_reported_as_absence(tmp_path: Path) -> None:
    async with opened(tmp_path, "one") as store:
        for number in range(200):
            await store.append("one", said(number, "word " * 100))
    data = bytearray((tmp_path / "s.db").read_bytes())
    data[8192:40960] = b"\x55" * (40960 - 8192)
    (tmp_path / "s.db").write_bytes(bytes(data))
    with pytest.raises(StorageDamaged, match=r"is damaged \(.*\): hermes store repair brings over"):
        async with opened(tmp_path) as store:
            await store.load("one")


async def test_a_file_that_is_no_database_is_told_as_damage(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("hello" * 1000)
    with pytest.raises(StorageDamaged):
        async with opened(tmp_path):
            pass


async def test_a_newer_schema_is_refused_cleanly(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="was written by a newer Hermes"):
        async with opened(tmp_path):
            pass


@given(st.integers(0, 3))
def test_migrating_from_any_version_gives_the_fresh_schema(start: int) -> None:
    scripts = [
        "CREATE TABLE a (x)",
        "ALTER TABLE a ADD COLUMN y;\nCREATE TABLE b (z)",
        "CREATE INDEX i ON b(z)",
    ]

    def schema(db: sqlite3.Connection) -> list[tuple[str, ...]]:
        return db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()

    fresh, old = (
        sqlite3.connect(":memory:", isolation_level=None),
        sqlite3.connect(":memory:", isolation_level=None),
    )
    sqlite.migrate(fresh, scripts)
    sqlite.migrate(old, scripts[:start])
    sqlite.migrate(old, scripts)
    assert schema(old) == schema(fresh)
    fresh.close()
    old.close()


OLD_ROWS = (
    (User(id="u", at=1.0, text="go"), "recalled", "(Background process p1 ended with exit code 0: make)"),
    (ToolResult(id="r", at=3.0, call_id="c", name="t", content="{}"), "note", "the user said: faster\nhurry"),
)


async def test_rows_that_were_written_before_there_were_blocks_read_the_same(tmp_path: Path) -> None:
    """What the model reads of them is the same to the byte."""
    async with opened(tmp_path, "one") as store:
        await store.append("one", OLD_ROWS[0][0])
        await store.append("one", ASKED, OLD_ROWS[1][0])
        await store.begin("one", "x", "t", "d")
        await store.finish("one", ToolResult(id="x", at=3.0, call_id="x", name="t", content="{}"))
    rows = sqlite3.connect(tmp_path / "s.db")
    for message, name, words in OLD_ROWS:
        rows.execute(
            f"UPDATE messages SET body = CAST(json_set(body, '$.{name}', ?) AS BLOB) WHERE kind = ?",
            (words, message.kind),
        )
    rows.execute("UPDATE intents SET result = CAST(json_set(result, '$.note', 'old') AS BLOB)")
    rows.commit()
    rows.close()
    async with opened(tmp_path) as store:
        stored = await store.load("one")
    user, _, result = stored.log
    assert isinstance(user, User)
    assert isinstance(result, ToolResult)
    assert user.blocks == (ContextBlock(kind="other", text=OLD_ROWS[0][2]),)
    assert (user.told, result.note) == (f"{OLD_ROWS[0][2]}\n\ngo", OLD_ROWS[1][2])
    begun = stored.begun["x"]
    assert begun is not None
    assert begun.note == "old"
