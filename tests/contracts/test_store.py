"""What every store does, whatever keeps it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hermes.store.protocol import (
    EVERYBODY,
    Owner,
    Selection,
    SessionRow,
    SessionStore,
    Spent,
    StoredQuestion,
    UsageEntry,
    Viewer,
)
from hermes.store.sqlite_store import open_store
from hermes.testing import FailingStore, MemoryStore, failing_at
from hermes.types.capabilities import Capabilities
from hermes.types.error import SessionOwned, StoreError
from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    ContextBlock,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)
from hermes.types.question import Approve, Clarify, Deny, Grant, Reply
from hermes.types.usage import NO_USAGE, Usage

pytestmark = pytest.mark.anyio
Opened = Callable[[], AbstractAsyncContextManager[SessionStore]]
CALL = ToolCall(id="c", name="t", arguments={"x": [1, {"y": None}]}, raw='{"x":1}')
ASKED = Assistant(
    id="a1",
    at=2.0,
    text="ok",
    thinking=(Thinking(text="hm", signature="s"),),
    calls=(CALL,),
    stop="calls",
    usage=Usage(input_tokens=3, requests=1),
    model="m",
)
USED = Usage(
    input_tokens=100, output_tokens=10, cache_read=80, cache_write=5, reasoning=3, requests=1, cost=0.25
)


@pytest.fixture(params=["sqlite", "memory"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def memory() -> AsyncIterator[SessionStore]:
        yield MemoryStore()

    def sqlite() -> AbstractAsyncContextManager[SessionStore]:
        return open_store(tmp_path / "s.db", tmp_path / "f.db")

    return {"sqlite": sqlite, "memory": memory}[request.param]


def row(name: str, **more: Any) -> SessionRow:
    plain = SessionRow(id=name, cwd="/w", model="m", source="cli", created=1.0, updated=1.0)
    return replace(plain, **more)


def said(number: int, text: str = "hello") -> User:
    return User(id=f"u{number}", at=float(number), text=text)


def answer(call_id: str = "c") -> ToolResult:
    return ToolResult(
        id=f"r{call_id}",
        at=3.0,
        call_id=call_id,
        name="t",
        content='{"a": 1}',
        blocks=(ContextBlock(kind="other", text="psst"),),
    )


def entry(**more: Any) -> UsageEntry:
    plain = UsageEntry(
        day="2026-11-22",
        session="s1",
        task="chat",
        provider="p",
        model="m",
        usage=USED,
        counted=0.3,
        failed=False,
    )
    return replace(plain, **more)


async def made(store: SessionStore, *names: str) -> None:
    for name in names:
        await store.create(row(name), system="be good", tools=[{"function": {"name": "t"}}])


async def test_what_was_appended_is_loaded_again(opened: Opened) -> None:
    picture = Attachment(media_type="image/png", data="AA==")
    log: tuple[Message, ...] = (
        User(id="u1", at=1.0, text="grüß dich", attachments=(picture,)),
        ASKED,
        replace(answer(), failed=True),
        Compaction(id="k", at=4.0, summary="s", first_kept="u1"),
    )
    async with opened() as store:
        await made(store, "one")
        await store.append("one", log[0])
        await store.append("one", *log[1:])
        stored = await store.load("one")
        assert (stored.log, stored.system, stored.tools) == (log, "be good", ({"function": {"name": "t"}},))
        assert stored.row == row("one", updated=4.0, messages=4, first_text="grüß dich")
        assert (stored.begun, stored.used) == ({}, NO_USAGE)


async def test_a_lone_surrogate_is_kept_as_a_replacement(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", said(1, "a\ud800b"))
        assert (await store.load("one")).log == (said(1, "a\ufffdb"),)


async def test_a_session_without_a_message_is_not_there(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.update("one", title="early")
        assert await store.recent() == []
        with pytest.raises(StoreError, match="There is no session one"):
            await store.load("one")
        await store.append("one", said(1))
        assert [found.title for found in await store.recent()] == ["early"]


async def test_a_session_that_is_not_open_here_is_not_written_to(opened: Opened) -> None:
    async with opened() as store:
        for call in (
            store.append("one", said(1)),
            store.settle("one"),
            store.begin("one", "c", "t", "d"),
            store.finish("one", answer()),
            store.drop_last("one", 1),
        ):
            with pytest.raises(StoreError, match="Session one is not open here; load it before writing"):
                await call


async def test_the_journal_is_open_until_it_is_settled(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", said(1), ASKED)
        await store.begin("one", "c", "t", "digest")
        assert (await store.load("one")).begun == {"c": None}
        await store.finish("one", answer())
        await store.finish("one", answer("d"))
        assert (await store.load("one")).begun == {"c": answer(), "d": answer("d")}
        await store.settle("one", answer())
        stored = await store.load("one")
        assert (stored.log, stored.begun) == ((said(1), ASKED, answer()), {})


async def test_sessions_are_found_by_id_prefix_title_and_latest(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "20260101_000000_aa", "20260102_000000_bb")
        await store.update("20260101_000000_aa", title="My Parser")
        await store.append("20260102_000000_bb", said(4))
        await store.append("20260101_000000_aa", said(5))
        for name in ("my parser", "20260101", "latest", "", "20260101_000000_aa"):
            assert (await store.resolve(name)).id == "20260101_000000_aa"
        for name, sentence in (
            ("2026", "'2026' could be any of 20260101_000000_aa, 20260102_000000_bb; give one by its id."),
            ("nothing", "There is no session 'nothing'; hermes sessions list shows what there is."),
            ("a%", "There is no session 'a%'; hermes sessions list shows what there is."),
        ):
            with pytest.raises(StoreError) as raised:
                await store.resolve(name)
            assert str(raised.value) == sentence


async def test_the_last_of_a_directory_is_never_one_of_another(opened: Opened) -> None:
    async with opened() as store:
        await store.create(row("one", cwd="/one"), system="", tools=[])
        await store.create(row("two", cwd="/two"), system="", tools=[])
        await store.append("one", said(1))
        await store.append("two", said(2))
        assert [found.id for found in await store.recent()] == ["two", "one"]
        assert [found.id for found in await store.recent(cwd="/one")] == ["one"]
        assert [found.id for found in await store.recent(limit=1)] == ["two"]
        assert (await store.resolve("latest", cwd="/one")).id == "one"
        assert (await store.resolve("latest")).id == "two"
        with pytest.raises(StoreError, match="There is no session of this directory yet"):
            await store.resolve("latest", cwd="/elsewhere")


async def test_the_children_of_a_session_are_its_own_in_order(opened: Opened) -> None:
    async with opened() as store:
        for name, above in (("top", ""), ("one", "top"), ("below", "one"), ("two", "top"), ("mute", "top")):
            await store.create(row(name, parent=above), system="", tools=[])
            if name != "mute":
                await store.append(name, said(1))
        assert [one.id for one in await store.children("top")] == ["one", "two"]
        assert [one.id for one in await store.children("one")] == ["below"]
        assert [await store.children(name) for name in ("below", "")] == [[], []]


async def test_what_is_changed_is_changed_and_nothing_else(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", said(1))
        await store.update("one", title="new")
        await store.update("one", model="p/other")
        await store.update("one", outside="a page\na mail")
        (found,) = await store.recent()
        assert (found.title, found.model, found.outside) == ("new", "p/other", "a page\na mail")


async def test_a_goal_is_kept_from_before_the_first_message_until_it_is_taken_away(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.update("one", goal="early")
        await store.append("one", said(1))
        goals = [(await store.load("one")).goal]
        for goal in ("later", None, ""):
            await store.update("one", title="x", goal=goal)
            goals.append((await store.load("one")).goal)
        assert goals == ["early", "later", "later", ""]


async def test_a_mode_is_kept_from_before_the_first_message_whatever_else_changes(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.update("one", mode="early")
        await store.append("one", said(1))
        modes = [(await store.load("one")).mode]
        for mode in ("later", None):
            await store.update("one", goal="x", mode=mode)
            modes.append((await store.load("one")).mode)
        assert modes == ["early", "later", "later"]


async def test_dropped_messages_leave_the_log(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", *(said(number) for number in range(4)))
        await store.drop_last("one", 2)
        await store.append("one", said(9))
        assert [message.id for message in (await store.load("one")).log] == ["u0", "u1", "u9"]


async def test_a_deleted_session_is_gone_with_its_words(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one", "two")
        await store.append("two", said(1, "secret plan"))
        (hit,) = await store.search("plan")
        assert (hit.session.id, hit.message, hit.snippet) == ("two", said(1, "secret plan"), "secret plan")
        assert [await store.delete("two"), await store.delete("two")] == [True, False]
        await made(store, "three")
        await store.append("three", said(2, "other words"))
        assert await store.search("plan") == []
        assert [found.session.id for found in await store.search("words other")] == ["three"]
        assert await store.search(" ") == []


async def test_a_search_gives_the_messages_of_a_kind_in_an_order_with_those_around(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one", "two")
        await store.append("one", said(1, "oak"), said(2, "gone"))
        await store.drop_last("one", 1)
        await store.append("one", said(3, "elm"), ASKED, answer())
        await store.append("two", said(4, "elm"), said(5, "ash"))
        select = Selection(kinds=("user",), order="newest", around=2)
        first, second = await store.search("elm", select=select)
        assert (first.session.id, first.number, first.before, first.after) == (
            "two",
            1,
            (),
            (said(5, "ash"),),
        )
        assert (second.session.id, second.number) == ("one", 2)
        assert (second.before, second.after) == ((said(1, "oak"),), (ASKED, answer()))
        assert await store.search("elm", select=Selection(kinds=("assistant",))) == []
        (left,) = await store.search("elm", select=Selection(order="oldest", unseen=frozenset({"u3"})))
        assert left.message == said(4, "elm")


async def test_nobody_finds_a_session_that_could_bring_in_more_or_in_which_somebody_else_spoke(
    opened: Opened,
) -> None:
    narrow = Capabilities(read=("/w",), hosts=())
    async with opened() as store:
        await store.create(row("wide", created=1.0), system="", tools=[])
        await store.create(row("narrow", created=2.0), system="", tools=[], capabilities=narrow)
        await store.create(row("ada", created=3.0), system="", tools=[])
        await store.create(row("both", created=4.0), system="", tools=[])
        await store.create(row("noted", created=5.0), system="", tools=[])
        ada, bob = (replace(said(1, "elm"), origin=f"chat:{name}") for name in ("ada", "bob"))
        note = ContextBlock(kind="note", text="elm", source="chat:bob")
        steered = [replace(ASKED, calls=ASKED.calls[:1]), replace(answer(), blocks=(note,))]
        for name, messages in (
            ("wide", [said(1, "elm")]), ("narrow", [said(1, "elm")]), ("ada", [ada]), ("both", [ada, bob]),
            ("noted", [ada, *steered]),
        ):  # fmt: skip
            await store.append(name, *messages)
        seen = {}
        for viewer in (
            EVERYBODY,
            Viewer(bounds=narrow),
            *(
                Viewer(origins=frozenset(one))
                for one in ({"chat:ada"}, {"chat:eve"}, {"chat:ada", "chat:bob"}, {"", "chat:ada"})
            ),
        ):
            hits = await store.search("elm", select=Selection(viewer=viewer))
            begun = await store.begun_between(0.0, 9.0, viewer=viewer)
            assert {hit.session.id for hit in hits} == {one.id for one in begun}
            seen[*sorted(viewer.origins), len(viewer.bounds.hosts)] = [one.id for one in begun]
        assert seen == {
            ("", 1): ["noted", "both", "ada", "narrow", "wide"],
            ("", 0): ["narrow"],
            ("chat:ada", 1): ["ada"],
            ("chat:eve", 1): [],
            ("chat:ada", "chat:bob", 1): ["noted", "both"],
            ("", "chat:ada", 1): ["ada"],
        }
        assert [one.id for one in await store.begun_between(2.0, 4.0, limit=1)] == ["ada"]


async def test_requests_add_up_and_failed_ones_are_told_apart(opened: Opened) -> None:
    async with opened() as store:
        more = (entry(failed=True), entry(day="2026-11-21"), entry(session="s2", model="n"))
        for one in (entry(), *more):
            store.count(one)
        assert await store.used_by("s1") == USED + USED + USED
        assert await store.used_by("nobody") == NO_USAGE
        assert await store.summary("model") == [
            Spent(what="p/m", usage=USED + USED + USED, failed=1),
            Spent(what="p/n", usage=USED, failed=0),
        ]
        assert [(one.what, one.usage.requests) for one in await store.summary("day")] == [
            ("2026-11-21", 1),
            ("2026-11-22", 3),
        ]
        assert [one.what for one in await store.summary("day", since="2026-11-22")] == ["2026-11-22"]
        tokens, money = await store.counted_on("2026-11-22")
        assert (tokens, round(money, 9)) == (330, 0.9)
        assert await store.counted_on("2026-11-23") == (0, 0.0)


async def test_a_session_brings_along_what_it_has_used(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "s1")
        await store.append("s1", said(1))
        store.count(entry())
        assert (await store.load("s1")).used == USED


async def test_a_store_says_that_it_is_in_order(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", said(1))
        assert await store.check() == "ok"


async def test_a_failing_store_fails_at_the_calls_it_was_told_and_writes_nothing_then(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        failing: SessionStore = failing_at(store, 2)
        await failing.append("one", said(1))
        with pytest.raises(StoreError, match="the store failed at its call 2, append"):
            await failing.append("one", said(2))
        await failing.append("one", said(3))
        assert [message.id for message in (await store.load("one")).log] == ["u1", "u3"]
        by_name: SessionStore = FailingStore(store, lambda _, name: name == "settle")
        await by_name.append("one", said(4))
        with pytest.raises(StoreError, match="call 2, settle"):
            await by_name.settle("one")


async def test_a_session_has_one_owner_from_its_claim_to_its_release(opened: Opened) -> None:
    me = Owner(pid=7, host="h", app="cli", since=1.0)
    async with opened() as store:
        await made(store, "one")
        assert await store.owner_of("one") is None
        await store.claim("one", me)
        with pytest.raises(SessionOwned, match="Session one is open already in this program; use it there"):
            await store.claim("one", me)
        assert await store.owner_of("one") == me
        await store.release("one")
        await store.release("one")
        assert await store.owner_of("one") is None
        await store.claim("one", me)
        await store.evict("one")
        assert await store.owner_of("one") is None


async def test_an_open_session_is_not_deleted(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.append("one", said(1))
        await store.claim("one", Owner(pid=7, host="h", app="cli", since=1.0))
        with pytest.raises(SessionOwned, match="Session one is open already in this program"):
            await store.delete("one")
        assert (await store.load("one")).log == (said(1),)
        await store.release("one")
        assert await store.delete("one")


ASK = StoredQuestion(
    id="q1",
    session="one",
    question=Approve(command="rm -rf build", cwd="/w", reasons=("it deletes",), rule="r", digest="d"),
    to="telegram:ada",
    asked=5.0,
    expires=60.0,
    call_id="c",
)


async def asking(store: SessionStore, *questions: StoredQuestion) -> None:
    await made(store, "one", "two")
    await store.append("one", said(1))
    await store.append("two", said(1))
    for one in questions:
        await store.ask(one)


async def test_a_question_is_kept_until_it_was_answered_and_the_answer_used(opened: Opened) -> None:
    free = replace(ASK, id="q2", session="two", question=Clarify(text="Which?", options=("a",)), expires=0.0)
    async with opened() as store:
        await asking(store, ASK, free)
        assert await store.questions() == [ASK, free]
        assert (await store.questions("two"), await store.question("q1")) == ([free], ASK)
        assert await store.answer("q1", Grant(scope="session", uses=2), by="telegram:ada", at=59.0)
        answered = replace(ASK, state="answered", answer=Grant(scope="session", uses=2), by="telegram:ada")
        assert await store.questions() == [answered, free]
        assert await store.end_question("q1", "expired") == replace(answered, state="used")
        assert await store.end_question("q1", "withdrawn") is None
        assert await store.question("q1") == replace(answered, state="used")
        assert await store.end_question("q2", "withdrawn") == replace(free, state="withdrawn")
        assert (await store.questions(), await store.end_question("none", "used")) == ([], None)


async def test_a_question_is_answered_once_in_time_and_by_whom_it_was_put_to(opened: Opened) -> None:
    async with opened() as store:
        await asking(store, ASK, replace(ASK, id="q2", expires=0.0))
        yes = Grant()
        assert not await store.answer("q1", yes, by="telegram:eve", at=6.0)
        assert not await store.answer("q1", yes, by="telegram:ada", at=60.0)
        assert not await store.answer("q9", yes, by="telegram:ada", at=6.0)
        assert await store.answer("q1", Deny(reason="no"), by="telegram:ada", at=6.0)
        assert not await store.answer("q1", yes, by="telegram:ada", at=6.0)
        assert await store.answer("q2", Reply(text="tomorrow"), by="telegram:ada", at=1e9)
        first = await store.question("q1")
        assert first is not None
        assert first.answer == Deny(reason="no")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, TypeError),
        ("yes", TypeError),
        (Deny(reason=None), ValueError),  # type: ignore[arg-type]
        (Grant(scope="bogus"), ValueError),  # type: ignore[arg-type]
        (Grant(until=float("nan")), ValueError),
        (Reply(text=object()), ValueError),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_answer_is_refused_and_the_question_stays_open(
    opened: Opened, answer: Any, error: type[Exception]
) -> None:
    async with opened() as store:
        await asking(store, ASK)
        with pytest.raises(error):
            await store.answer("q1", answer, by="telegram:ada", at=6.0)
        assert await store.questions() == [ASK]


async def test_questions_go_with_their_session_and_need_one(opened: Opened) -> None:
    async with opened() as store:
        await asking(store, ASK)
        with pytest.raises(StoreError, match="There is no session three"):
            await store.ask(replace(ASK, id="q3", session="three"))
        assert await store.delete("one")
        assert (await store.question("q1"), await store.questions()) == (None, [])


async def test_a_session_may_ask_before_anything_was_said_in_it(opened: Opened) -> None:
    async with opened() as store:
        await made(store, "one")
        await store.update("one", title="early")
        await store.ask(ASK)
        assert await store.questions("one") == [ASK]
        assert await store.answer("q1", Grant(), by="telegram:ada", at=6.0)
        await store.append("one", said(1))
        assert [(found.title, found.messages) for found in await store.recent()] == [("early", 1)]
        assert (await store.load("one")).log == (said(1),)


async def test_the_last_used_is_told_by_what_was_said_and_not_by_the_clock(opened: Opened) -> None:
    """The clock went back between the sessions; a reply alone makes no session the last used."""
    async with opened() as store:
        await made(store, "future", "now", "early")
        await store.append("future", said(9000))
        await store.append("now", said(10))
        assert (await store.resolve("latest")).id == "now"
        await store.append("early", said(5))
        await store.append("now", replace(ASKED, calls=(), stop="end"))
        assert [found.id for found in await store.recent()] == ["early", "now", "future"]
        assert (await store.read("now")).log == (await store.load("now")).log
