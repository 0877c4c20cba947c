"""A session that is exported and imported is the same; a file that is none changes nothing."""

import string
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.agent.log import misplaced
from hermes.config.home import Home
from hermes.store.protocol import Owner, SessionRow, StoredSession
from hermes.store.session_file import SessionFile, import_session, read_session, session_lines
from hermes.store.sqlite_store import open_store
from hermes.testing import MemoryStore
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError, StoreError
from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    ContextBlock,
    Cut,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)
from hermes.types.usage import Usage

pytestmark = pytest.mark.anyio

TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\n\r\u2028\u202e😀"), max_size=12
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda one: st.lists(one, max_size=2) | st.dictionaries(TEXT, one, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
TIMES = st.floats(0, 4e9)
ATTACHMENTS = st.lists(st.builds(Attachment, media_type=TEXT, data=TEXT, name=TEXT), max_size=1).map(tuple)
BLOCKS = st.lists(
    st.builds(
        ContextBlock, kind=st.sampled_from(["memory", "note", "pin", "hook"]), text=TEXT, source=TEXT, id=TEXT
    ),
    max_size=2,
).map(tuple)
USERS = st.builds(User, id=TEXT, at=TIMES, text=TEXT, attachments=ATTACHMENTS, blocks=BLOCKS, origin=TEXT)
COMPACTIONS = st.builds(
    Compaction, id=TEXT, at=TIMES, summary=TEXT, first_kept=TEXT, head=st.integers(0, 9), verbatim=TEXT
)
PLACES = st.integers(0, 5)


@st.composite
def replies(draw: st.DrawFn) -> Assistant:
    names = draw(st.lists(st.text(string.ascii_letters, min_size=1, max_size=4), max_size=2, unique=True))
    return Assistant(
        id=draw(TEXT),
        at=draw(TIMES),
        text=draw(TEXT),
        thinking=tuple(
            draw(st.lists(st.builds(Thinking, text=TEXT, signature=TEXT, redacted=st.booleans()), max_size=2))
        ),
        calls=tuple(
            ToolCall(id=name, name=draw(TEXT), arguments=draw(OBJECT), raw=draw(TEXT), fault=draw(TEXT))
            for name in names
        ),
        usage=Usage(input_tokens=draw(PLACES), requests=1),
        provider=draw(TEXT),
        opaque=tuple(draw(st.lists(OBJECT, max_size=1))),
        cuts=tuple(draw(st.lists(st.builds(Cut, text=PLACES), max_size=1))),
    )


@st.composite
def logs(draw: st.DrawFn) -> tuple[Message, ...]:
    """Any log, also one that ends in the middle of a turn."""
    found: list[Message] = []
    for _ in range(draw(st.integers(0, 3))):
        found.append(draw(USERS))
        while True:
            reply = draw(replies())
            found.append(reply)
            found += [
                ToolResult(
                    id=draw(TEXT),
                    at=draw(TIMES),
                    call_id=call.id,
                    name=call.name,
                    content=draw(TEXT),
                    images=draw(ATTACHMENTS),
                    failed=draw(st.booleans()),
                    outside=draw(TEXT),
                )
                for call in reply.calls
            ]
            if not reply.calls:
                break
        found += draw(st.lists(COMPACTIONS, max_size=1))
    return tuple(found[: draw(st.integers(0, len(found)))])


def stored(*log: Message, **more: Any) -> StoredSession:
    row = SessionRow(
        id="20261123_101112_0a1b2c3d4e5f",
        title="A – “title”",
        cwd="/elsewhere",
        model="p/m",
        base_url="http://127.0.0.1:1/v1",
        source="cli",
        created=1.0,
        updated=2.0,
    )
    tools = ({"type": "function", "function": {"name": "t", "parameters": {}}},)
    return StoredSession(
        row=replace(row, **more),
        system="be good",
        tools=tools,
        log=log,
        begun={},
        capabilities=Capabilities(asks=False),
    )


@settings(max_examples=300)
@given(logs())
def test_any_session_comes_back_as_it_was(log: tuple[Message, ...]) -> None:
    assert misplaced(log) is None
    session = stored(*log)
    lines = b"\n".join(session_lines(session)) + b"\n"
    assert read_session(lines.splitlines(keepends=True)) == SessionFile(session, announced=len(log))


FORGED = (
    Compaction(id="c", at=1.0, summary="s", first_kept="m", head=-1),
    Compaction(id="c", at=1.0, summary="s", first_kept="m", dropped=10**400),
    Compaction(id="c", at=1.0, summary="s", first_kept="m", before=2**53),
    Assistant(id="a", at=1.0, text="t", usage=Usage(input_tokens=-1)),
    Assistant(id="a", at=1.0, text="t", usage=Usage(output_tokens=10**400)),
)


@pytest.mark.parametrize("message", FORGED)
def test_a_count_that_nothing_can_have_is_named_with_its_line(message: Message) -> None:
    lines = session_lines(stored(User(id="u", at=1.0, text="hi"), message))
    with pytest.raises(
        StoreError, match=r"^Line 3 is no message: it has a count below zero or beyond all counting\.$"
    ):
        read_session(lines)


async def test_an_import_is_text_from_outside_in_a_directory_of_this_machine(tmp_path: Path) -> None:
    session = stored(User(id="u", at=1.0, text="hi"), parent="gone", origin="gone")
    async with open_store(tmp_path / "s.db", tmp_path / "f.db") as store:
        row = await import_session(store, session, free_id="new", cwd="/here", now=9.0)
        found = await store.read(row.id)
        again = await import_session(store, session, free_id="new", cwd="/here", now=9.0)
        assert (await store.read(row.id), [one.id for one in await store.recent()]) == (
            found,
            ["new", row.id],
        )
    wanted = replace(
        session.row,
        cwd="/here",
        model="",
        base_url="",
        parent="",
        origin="",
        outside="the imported session 20261123_101112_0a1b2c3d4e5f",
        created=9.0,
        updated=1.0,
        messages=1,
        first_text="hi",
    )
    assert (found.row, again.id) == (wanted, "new")
    assert (found.log, found.system, found.tools, found.capabilities) == (
        session.log,
        session.system,
        session.tools,
        session.capabilities,
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "Line 1 does not begin a session"),
        ([b"nothing"], "Line 1 does not begin a session"),
        ([b'{"kind":"user","id":"u","at":1.0,"text":"hi"}'], "Line 1 does not begin a session"),
        (
            [
                b'{"kind":"session","version":9,"session":{"id":"a","cwd":"","model":"","created":1.0,"updated":1.0},"system":""}'
            ],
            "Line 1 is of a newer version",
        ),
        ([*session_lines(stored()), b'{"kind":"user","id":'], "Line 2 is no message"),
        (
            [*session_lines(stored(User(id="u", at=1.0, text="a"))), b'{"kind":"other"}'],
            "Line 3 is no message",
        ),
        ([*session_lines(stored()), b"\xff\xfe"], "Line 2 is no message"),
        (
            [*session_lines(stored(User(id="u", at=1e300, text="a")))],
            "Line 2 is no message: its time is none that a clock shows",
        ),
        ([*session_lines(stored(User(id="u", at=-1.0, text="a")))], "Line 2 is no message: its time"),
    ],
)
def test_a_bad_file_is_told_with_the_line(lines: list[bytes], told: str) -> None:
    with pytest.raises(StoreError, match=told):
        read_session(lines)


def test_an_import_that_cannot_be_stored_leaves_nothing() -> None:
    class Full(MemoryStore):
        async def append(self, session_id: str, *messages: Message) -> None:
            raise StoreError("the disk is full")

    async def tried() -> list[SessionRow]:
        store = Full()
        with pytest.raises(StoreError, match="full"):
            await import_session(store, stored(User(id="u", at=1.0, text="a")), free_id="n", cwd="/", now=1.0)
        return await store.recent()

    assert anyio.run(tried) == []


@pytest.mark.parametrize("forged", ["/home/ada", "../../ada", "a/b", "..", "", "a\0b", "x" * 101, "a.b"])
async def test_an_id_that_is_a_path_is_never_taken_over(tmp_path: Path, forged: str) -> None:
    one = stored(User(id="u", at=1.0, text="hi"))
    session = replace(one, row=replace(one.row, id=forged))
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        row = await import_session(store, session, free_id="new", cwd="/here", now=9.0)
        with pytest.raises(StoreError, match="no id of a session"):
            await store.claim(forged, Owner(pid=1, host="h", app="cli", since=1.0))
    assert row.id == "new"
    with pytest.raises(ConfigError, match="no id of a session"):
        Home(root=tmp_path).scratch_of(forged)


@pytest.mark.parametrize("word", ["latest", "my_session", "\x1b]0;owned\x07", "x" * 5000])
async def test_an_id_that_hermes_never_gave_is_not_taken_over(tmp_path: Path, word: str) -> None:
    one = stored(User(id="u", at=1.0, text="hi"))
    session = replace(one, row=replace(one.row, id=word))
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        row = await import_session(store, session, free_id="new", cwd="/here", now=9.0)
    assert (row.id, len(row.outside) < 60, row.outside.isprintable()) == ("new", True, True)


def test_json_that_is_nested_too_deep_is_a_fault_of_its_line() -> None:
    deep = b'{"kind":"user","at":1,"id":"u","text":"x","blocks":' + b"[" * 200_000
    with pytest.raises(StoreError, match="Line 1 does not begin a session"):
        read_session([b'{"kind":"session","tools":' + b"[" * 200_000])
    with pytest.raises(StoreError, match="Line 2 is no message"):
        read_session([next(iter(session_lines(stored()))), deep])
