import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib import sqlite
from hermes.store.search import Search
from hermes.store.sessions import MESSAGES, SessionRow, Sessions
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Assistant, Attachment, Compaction, Message, Thinking, ToolCall, ToolResult, User
from hermes.types.usage import Usage


def row(name: str, **more: object) -> SessionRow:
    given_ = {
        "title": "",
        "cwd": "/w",
        "branch": "",
        "model": "m",
        "source": "cli",
        "parent": "",
        "created": 1.0,
        "updated": 1.0,
        "messages": 0,
        "first_text": "",
    }
    return SessionRow(id=name, **(given_ | more))  # type: ignore[arg-type]


def opened(path: Path, *names: str) -> Sessions:
    store = Sessions(path / "s.db")
    for name in names:
        store.create(row(name), system="be good", tools=[{"function": {"name": "t"}}])
    return store


def said(number: int, text: str = "hello") -> User:
    return User(id=f"u{number}", at=float(number), text=text)


MESSAGE = Assistant(
    id="a1", at=2.0, text="ok", thinking=(Thinking(text="hm", signature="s"),), calls=(ToolCall(id="c", name="t", arguments={"x": [1, {"y": None}]}, raw='{"x":1}'),),
    stop="calls", usage=Usage(input_tokens=3, requests=1), model="m",
)  # fmt: skip


def test_what_was_appended_is_loaded_again(tmp_path: Path) -> None:
    log: tuple[Message, ...] = (
        User(id="u1", at=1.0, text="grüß dich", attachments=(Attachment(media_type="image/png", data="AA=="),)),
        MESSAGE,
        ToolResult(id="r1", at=3.0, call_id="c", name="t", content='{"a": 1}', note="psst", failed=True),
        Compaction(id="k", at=4.0, summary="s", first_kept="u1"),
    )
    store = opened(tmp_path, "one")
    for message in log:
        store.append("one", message)
    store.close()
    again = Sessions(tmp_path / "s.db")
    stored = again.load("one")
    assert (stored.log, stored.system, stored.tools) == (log, "be good", ({"function": {"name": "t"}},))
    assert (stored.row.messages, stored.row.updated, stored.row.first_text) == (4, 4.0, "grüß dich")
    again.close()


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
                    k.encode("utf-8", "replace").decode(): v.encode("utf-8", "replace").decode() if isinstance(v, str) else v
                    for k, v in arguments.items()
                },
            ),
        ),
    )
    assert MESSAGES.decode(MESSAGES.encode(message)) == message


def test_a_lone_surrogate_is_stored_as_a_replacement(tmp_path: Path) -> None:
    store = opened(tmp_path, "one")
    store.append("one", said(1, "a\ud800b"))
    (message,) = store.load("one").log
    assert isinstance(message, User)
    assert message.text == "a\ufffdb"
    store.close()


def test_two_processes_cannot_write_to_one_session(tmp_path: Path) -> None:
    mine = opened(tmp_path, "one")
    mine.append("one", said(1))
    theirs = Sessions(tmp_path / "s.db")
    theirs.load("one")
    theirs.append("one", said(2))
    with pytest.raises(StoreError, match="used by another process; nothing was written"):
        mine.append("one", said(3))
    assert [message.id for message in theirs.load("one").log] == ["u1", "u2"]
    mine.close()
    theirs.close()


def test_sessions_are_found_by_id_prefix_title_and_latest(tmp_path: Path) -> None:
    store = opened(tmp_path, "20260101_000000_aa", "20260102_000000_bb")
    store.update("20260101_000000_aa", title="My Parser")
    store.append("20260102_000000_bb", said(4))
    store.append("20260101_000000_aa", said(5))
    assert store.resolve("my parser").id == store.resolve("20260101").id == store.resolve("latest").id == "20260101_000000_aa"
    with pytest.raises(StoreError, match="could be any of 20260101_000000_aa, 20260102_000000_bb"):
        store.resolve("2026")
    with pytest.raises(StoreError, match="There is no session 'nothing'"):
        store.resolve("nothing")
    with pytest.raises(StoreError, match="There is no session 'a%'"):
        store.resolve("a%")
    store.close()


def test_dropped_messages_leave_the_log_and_stay_in_the_store(tmp_path: Path) -> None:
    store = opened(tmp_path, "one")
    for number in range(4):
        store.append("one", said(number))
    store.drop_last("one", 2)
    store.append("one", said(9))
    assert [message.id for message in store.load("one").log] == ["u0", "u1", "u9"]
    with sqlite3.connect(tmp_path / "s.db") as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (5,)
    store.close()


def test_a_deleted_session_is_gone_with_its_messages_and_its_place_is_not_used_again(tmp_path: Path) -> None:
    store = opened(tmp_path, "one", "two")
    store.append("two", said(1, "secret plan"))
    search = Search(tmp_path / "f.db", store)
    assert [hit.session.id for hit in search.find("plan")] == ["two"]
    assert (store.delete("two"), store.delete("two")) == (True, False)
    store.create(row("three"), system="", tools=[])
    store.append("three", said(2, "other words"))
    assert search.find("plan") == []
    assert [hit.session.id for hit in search.find("words")] == ["three"]
    search.close()
    store.close()


def test_the_index_can_be_deleted_at_any_time(tmp_path: Path) -> None:
    store = opened(tmp_path, "one")
    store.append("one", said(1, "needle in a haystack"))
    (tmp_path / "f.db").write_bytes(b"this is no database, it was damaged" * 200)
    search = Search(tmp_path / "f.db", store)
    (hit,) = search.find("needles")
    assert (hit.message.id, hit.snippet) == ("u1", "needle in a haystack")
    search.close()
    store.close()


def test_damage_is_never_reported_as_absence(tmp_path: Path) -> None:
    store = opened(tmp_path, "one")
    for number in range(200):
        store.append("one", said(number, "word " * 100))
    store.close()
    sqlite.checkpoint(tmp_path / "s.db")
    data = bytearray((tmp_path / "s.db").read_bytes())
    data[8192:40960] = b"\x55" * (40960 - 8192)
    (tmp_path / "s.db").write_bytes(bytes(data))
    for leftover in tmp_path.glob("s.db-*"):
        leftover.unlink()
    with pytest.raises(StorageDamaged, match=r"is damaged \(.*\); restore it from a backup"):
        Sessions(tmp_path / "s.db").load("one")


def test_a_file_that_is_no_database_is_told_as_damage(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("hello" * 1000)
    with pytest.raises(StorageDamaged):
        Sessions(tmp_path / "s.db")


def test_a_newer_schema_is_refused_cleanly(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="was written by a newer Hermes"):
        Sessions(tmp_path / "s.db")


@given(st.integers(0, 3))
def test_migrating_from_any_version_gives_the_fresh_schema(start: int) -> None:
    scripts = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y;\nCREATE TABLE b (z)", "CREATE INDEX i ON b(z)"]

    def schema(db: sqlite3.Connection) -> list[tuple[str, ...]]:
        return db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()

    fresh, old = sqlite3.connect(":memory:", isolation_level=None), sqlite3.connect(":memory:", isolation_level=None)
    sqlite.migrate(fresh, scripts)
    sqlite.migrate(old, scripts[:start])
    sqlite.migrate(old, scripts)
    assert schema(old) == schema(fresh)
    fresh.close()
    old.close()
