"""Questions of a session: kept before they are told, answered once, over in time, and used by the call that is made again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.questions import LOOK_LONGEST, Questions, calling
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.store.protocol import SessionRow, StoredQuestion
from hermes.testing import MemoryStore, ScriptedModel, VirtualClock, call, say
from hermes.types.actor import Actor
from hermes.types.event import Answered, Asked, Event
from hermes.types.message import Assistant, ToolCall, ToolResult, User
from hermes.types.question import Answer, Approve, Clarify, Deny, Grant, Question, Reply
from tests.scenarios.conftest import Talk, talk  # noqa: F401  # a fixture

pytestmark = pytest.mark.anyio
ADA = Actor(app="telegram", id="ada")
DELETE = Approve(command="rm -rf plans", cwd="/w", reasons=("it deletes",), rule="r", digest="d1")
COLOUR = Clarify(text="Which colour?")


class Bench:
    """Questions of one session over a store in memory, in virtual time."""

    def __init__(self) -> None:
        self.clock, self.store = VirtualClock(), MemoryStore()
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self.questions = self.made()

    def made(self) -> Questions:
        """Those of a process that has just begun."""
        return Questions(
            emit=self.events.append, ports=self.clock.ports(SYSTEM_PORTS), store=self.store, spawn=self._spawn,
            session="s", actor=ADA, attended=True, seconds=60.0,
        )  # fmt: skip

    def _spawn(self, job: Callable[[], Any]) -> None:
        self.job = job

    async def opened(self) -> "Bench":
        row = SessionRow(id="s", cwd="", model="", source="cli", created=0.0, updated=0.0)
        await self.store.create(row, system="", tools=())
        await self.store.append("s", User(id="u", at=0.0, text="go"))
        return self

    async def ask(self, question: Question) -> None:
        with calling("c1"):
            self.answers.append(await self.questions.ask(question))

    async def settled(self) -> None:
        """Let everybody run until nothing more happens without time."""
        for _ in range(30):
            await anyio.lowlevel.checkpoint()

    async def left(self, question: Question) -> StoredQuestion:
        """A question that a killed process left behind."""
        one = StoredQuestion(
            id="q", session="s", question=question, to="telegram:ada", asked=self.clock.now(), call_id="c1"
        )
        await self.store.ask(one)
        return one


async def test_a_question_is_in_the_store_before_it_is_told_and_over_when_it_was_answered() -> None:
    bench = await Bench().opened()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, DELETE)
        await bench.settled()
        (asked,) = (event for event in bench.events if isinstance(event, Asked))
        now = bench.clock.now()
        kept = StoredQuestion(
            id=asked.id,
            session="s",
            question=DELETE,
            to="telegram:ada",
            asked=now,
            expires=now + 60.0,
            call_id="c1",
        )
        assert await bench.store.questions() == [kept]
        assert not bench.questions.answer(asked.id, Grant(), Actor(app="telegram", id="eve"))
        assert bench.questions.answer(asked.id, Grant())
        assert not bench.questions.answer(asked.id, Deny())
    assert (bench.answers, bench.events[1:]) == (
        [Grant()],
        [Answered(id=asked.id, answer=Grant(), by="person")],
    )
    assert await bench.store.question(asked.id) == replace(
        kept, state="used", answer=Grant(), by="telegram:ada"
    )


async def test_an_answer_that_came_into_the_store_is_found_within_seconds() -> None:
    bench = await Bench().opened()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, COLOUR)
        await bench.settled()
        for _ in range(20):  # it looks ever less often
            bench.clock.advance(LOOK_LONGEST)
            await bench.settled()
        assert bench.clock.sleepers == (LOOK_LONGEST,)
        (kept,) = await bench.store.questions()
        assert await bench.store.answer(kept.id, Reply(text="green"), by="telegram:ada", at=bench.clock.now())
        bench.clock.advance(LOOK_LONGEST)
    assert bench.answers == [Reply(text="green")]


async def test_silence_is_a_no_when_the_time_is_over_and_an_answer_at_the_last_moment_counts() -> None:
    for answered in (False, True):
        bench = await Bench().opened()
        async with anyio.create_task_group() as group:
            group.start_soon(bench.ask, DELETE)
            await bench.settled()
            (kept,) = await bench.store.questions()
            bench.clock.advance(59.9)
            if answered:
                assert await bench.store.answer(kept.id, Grant(), by="telegram:ada", at=bench.clock.now())
            bench.clock.advance(0.1)
        no = Deny(reason="Nobody answered within 60 s, and silence is no consent.")
        assert bench.answers == [Grant() if answered else no]
        over = await bench.store.question(kept.id)
        assert over is not None
        assert over.state == ("used" if answered else "expired")


async def test_a_question_of_a_stopped_turn_is_withdrawn() -> None:
    bench = await Bench().opened()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, DELETE)
        await bench.settled()
        (kept,) = await bench.store.questions()
        group.cancel_scope.cancel()
    assert await bench.store.question(kept.id) == replace(kept, state="withdrawn")
    assert bench.questions.open == ()


@pytest.mark.parametrize("question", [DELETE, COLOUR])
async def test_a_question_left_behind_is_answered_before_or_after_its_call_is_made_again(
    question: Question,
) -> None:
    yes: Answer = Grant() if question is DELETE else Reply(text="green")
    for early in (True, False):
        bench = await Bench().opened()
        left = await bench.left(question)
        bench.questions.restore([left])
        assert (
            bench.questions.left_behind
            == (Asked(id="q", question=question, to="telegram:ada"),)
            == tuple(bench.events)
        )
        async with anyio.create_task_group() as group:
            if early:
                assert bench.questions.answer("q", yes)
                assert not bench.questions.answer("q", Deny())
                await bench.job()
                assert [one.state for one in await bench.store.questions()] == ["answered"]
            group.start_soon(bench.ask, question)
            await bench.settled()
            if not early:
                assert bench.questions.answer("q", yes)
        assert bench.answers == [yes]
        assert (len(bench.questions.left_behind), await bench.store.questions()) == (0, [])


async def test_an_answer_left_behind_is_for_its_own_action_alone_and_for_one_time() -> None:
    bench = await Bench().opened()
    left = await bench.left(DELETE)
    bench.questions.restore([replace(left, state="answered", answer=Grant(), by="telegram:ada")])
    await bench.store.answer("q", Grant(), by="telegram:ada", at=0.0)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, replace(DELETE, digest="another"))
        await bench.settled()
        assert bench.answers == []
        await bench.ask(DELETE)
        assert bench.answers == [Grant()]
        group.start_soon(bench.ask, DELETE)
        await bench.settled()
        assert (len(bench.answers), len(await bench.store.questions())) == (1, 2)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_question_names_the_call_that_waits_for_it(talk: Talk, kind: str) -> None:  # noqa: F811
    @hermes.tool
    async def asks(ctx: Any) -> str:
        """Ask."""
        return str((await ctx.ask(COLOUR)).text)

    @hermes.tool
    def asks_blocking(ctx: Any) -> str:
        """Ask from a thread."""
        return str(ctx.ask_blocking(COLOUR).text)

    tool = asks if kind == "async" else asks_blocking
    model = ScriptedModel(call(tool.entry.name, {}, call_id="c7"), say("done"))
    async with talk(model, functions=(tool,)) as session, session.stream("go") as events:
        async for event in events:
            if isinstance(event, Asked):
                (kept,) = await session.services.store.questions(session.id)
                assert (kept.id, kept.call_id) == (event.id, "c7")
                session.answer(event.id, Reply(text="green"))


async def test_a_question_that_nobody_answered_in_time_is_over_when_its_session_is_resumed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=tmp_path)
    async with open_runtime(environ=environ, http=ScriptedModel(say("go on")).http()) as runtime:
        session, store = await runtime.session(options), runtime.store
        wish = ToolCall(id="c1", name="t", arguments={})
        await store.append(
            session.id, User(id="u", at=0.0, text="go"), Assistant(id="a", at=0.0, calls=(wish,))
        )
        await store.begin(session.id, "c1", "t", "d")
        kept = StoredQuestion(
            id="q", session=session.id, question=DELETE, to="cli", asked=1.0, expires=61.0, call_id="c1"
        )
        await store.ask(kept)
        await session.close()
        session = await runtime.session(replace(options, resume=session.id))
        (result,) = (one for one in session.log if isinstance(one, ToolResult))
        assert json.loads(result.content) == {
            "error": "Hermes stopped while this call waited for a person's answer to the question 'rm -rf plans'; nothing"
            " was done after the question. Nobody answered in time.",
            "status": "waited_for_answer",
        }
        assert await store.question("q") == replace(kept, state="expired")
        assert not session.questions.left_behind
        await session.close()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, TypeError),
        ("yes", TypeError),
        (Deny(reason=None), ValueError),  # type: ignore[arg-type]
        (Grant(scope="bogus"), ValueError),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_answer_is_refused_at_once_and_the_question_waits_on(
    answer: Any, error: type[Exception]
) -> None:
    bench = await Bench().opened()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, DELETE)
        await bench.settled()
        (number,) = bench.questions.open
        with pytest.raises(error):
            bench.questions.answer(number, answer)
        assert (bench.answers, bench.questions.open) == ([], (number,))
        assert bench.questions.answer(number, Deny())
    assert bench.answers == [Deny()]


@pytest.mark.parametrize(
    ("question", "wrong", "sentence"),
    [
        (DELETE, Reply(text="yes"), "An approval is answered with a Grant or a Deny, not with a Reply."),
        (COLOUR, Grant(), "A question of the model is answered with a Reply or a Deny, not with a Grant."),
    ],
)
async def test_an_answer_to_another_kind_of_question_is_refused_with_what_is_expected(
    question: Question, wrong: Answer, sentence: str
) -> None:
    bench = await Bench().opened()
    bench.questions.restore([await bench.left(question)])
    with pytest.raises(TypeError) as told:
        bench.questions.answer("q", wrong)
    assert (str(told.value), bench.questions.open) == (sentence, ("q",))


async def test_an_answer_to_another_kind_of_question_is_refused_by_the_runtime_too(
    environ: dict[str, str],
) -> None:
    async with open_runtime(environ=environ) as runtime:
        row = SessionRow(id="s", cwd="", model="", source="cli", created=0.0, updated=0.0)
        await runtime.store.create(row, system="", tools=())
        await runtime.store.append("s", User(id="u", at=0.0, text="go"))
        await runtime.store.ask(StoredQuestion(id="q", session="s", question=DELETE, to="cli", asked=1.0))
        with pytest.raises(TypeError, match="with a Grant or a Deny, not with a Reply"):
            await runtime.answer("q", Reply(text="yes"), by=Actor(app="cli"))


async def test_an_answer_is_used_by_one_of_two_that_wait_for_it() -> None:
    bench, other = await Bench().opened(), Bench()
    left = await bench.left(DELETE)
    other.store, other.clock = bench.store, bench.clock
    other.questions = other.made()
    for one in (bench, other):
        one.questions.restore([left])
    async with anyio.create_task_group() as group:
        for one in (bench, other):
            group.start_soon(one.ask, DELETE)
        await bench.settled()
        assert await bench.store.answer("q", Grant(), by="telegram:ada", at=bench.clock.now())
        bench.clock.advance(LOOK_LONGEST)
    assert sorted(answer.kind for answer in (*bench.answers, *other.answers)) == ["deny", "grant"]


@pytest.mark.parametrize("when", ["waiting", "left behind", "left behind and written first"])
async def test_a_no_from_here_stands_where_a_yes_came_into_the_store(when: str) -> None:
    bench = await Bench().opened()
    left = await bench.left(DELETE)
    bench.questions.restore([left])
    async with anyio.create_task_group() as group:
        if when == "waiting":
            group.start_soon(bench.ask, DELETE)
            await bench.settled()
        assert await bench.store.answer("q", Grant(), by="telegram:ada", at=bench.clock.now())
        assert bench.questions.answer("q", Deny())
        if when.endswith("first"):
            await bench.job()
        if when != "waiting":
            group.start_soon(bench.ask, DELETE)
    assert (bench.answers, await bench.store.questions()) == ([Deny()], [])
    assert {event.answer for event in bench.events if isinstance(event, Answered)} == {Deny()}


async def test_a_yes_from_here_after_a_no_in_the_store_is_not_told_and_allows_nothing() -> None:
    bench = await Bench().opened()
    bench.questions.restore([await bench.left(DELETE)])
    assert await bench.store.answer("q", Deny(), by="telegram:ada", at=bench.clock.now())
    assert bench.questions.answer("q", Grant())
    await bench.job()
    assert not bench.questions.answer("q", Grant())
    await bench.ask(DELETE)
    assert bench.answers == [Deny()]
    assert {event.answer for event in bench.events if isinstance(event, Answered)} == {Deny()}
