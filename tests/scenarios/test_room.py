"""Long sessions: what the model sees stays within its window, nothing asked is lost, and the log keeps everything."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.composition import SYSTEM_PORTS
from hermes.testing import ScriptedModel, VirtualClock, call, fail, say
from hermes.testing.script import Turn
from hermes.types.error import HermesError
from hermes.types.event import CompactionStarted, Notice, PrefixBroken
from hermes.types.message import Assistant, Compaction, ToolResult, User

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio

WINDOW = 20_000
RECORD = "## Active task\n- Read the parts [1]\n## Findings\n- part 1 has the word heron [3]"
TOO_LONG = (
    "This model's maximum context length is 20000 tokens. However, your messages resulted in 90000 tokens."
)


@pytest.fixture
def window(environ: dict[str, str]) -> None:
    """A model with a window that a few results fill."""
    settings(environ, {"scripted": WINDOW})


def settings(environ: dict[str, str], windows: Mapping[str, int]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"  custom/{name}:\n    context_window: {size}\n" for name, size in windows.items())
    (home / "config.yaml").write_text(f"models:\n{rows}")


@hermes.tool
def part(number: int) -> str:
    """A part of a long text."""
    return f"part {number}: " + ("heron " if number == 1 else "water ") * 3_000


def compactions(session: Session) -> list[Compaction]:
    return [one for one in session.log if isinstance(one, Compaction)]


def answer(session: Session) -> str:
    last = session.log[-1]
    return last.text if isinstance(last, Assistant) else ""


def contents(request: dict[str, Any]) -> str:
    return json.dumps(request["messages"], ensure_ascii=False)


def is_record(request: dict[str, Any]) -> bool:
    """Whether a request asks for a record."""
    return "You keep the record" in contents(request)


def counted(turn: Turn, request: dict[str, Any]) -> Turn:
    """The reply with the prompt's tokens as a server counts them; the prefix is the session's to tell of."""
    count = b'"prompt_tokens": %d' % (len(contents(request)) // 4)
    pieces = tuple(piece.replace(b'"prompt_tokens": 100', count) for piece in turn.pieces)
    return replace(turn, pieces=pieces, breaks_prefix=True)


def as_needed(*replies: Turn, record: str = RECORD) -> ScriptedModel:
    """A model that plays its replies in order, writes a record when it is asked for one, and refuses what its window
    does not hold.
    """
    left = list(replies)

    def reply(request: dict[str, Any]) -> Turn:
        if is_record(request):
            return say(record, breaks_prefix=True)
        if len(contents(request)) / 4 > WINDOW:
            return fail(400, TOO_LONG)
        return counted(left.pop(0), request)

    return ScriptedModel(*[reply] * 400)


@pytest.mark.usefixtures("window")
async def test_a_turn_that_outgrows_the_window_goes_on_with_a_record(talk: Talk) -> None:
    model = as_needed(*(call("part", {"number": number}) for number in range(1, 9)), say("heron"))
    async with talk(model, functions=(part,)) as session:
        heard = await events_of(session, "Which word is in part 1 alone? Use the tool part.")
        assert answer(session) == "heron"
        assert len([one for one in session.log if one.kind == "tool_result"]) == 8
        made = compactions(session)
        assert made
        assert all(one.after < one.before for one in made)
        assert sum(isinstance(one, CompactionStarted) for one in heard) == len(made)
        assert sum(isinstance(one, PrefixBroken) for one in heard) == len(made)
        last = model.requests[-1]
        assert "Which word is in part 1 alone?" in contents(last)
        assert len(contents(last)) / 4 < WINDOW


@pytest.mark.usefixtures("window")
async def test_a_server_that_refuses_a_request_as_too_long_gets_a_shorter_one(talk: Talk) -> None:
    model = as_needed(say("short answer"))
    async with talk(model) as session:
        await session.send("\n".join(f"line {number}: the quick brown fox" for number in range(8_000)))
        assert answer(session) == "short answer"
        (entry,) = compactions(session)
        assert (entry.clip > 0, entry.dropped) == (True, 0)
        assert "line 0:" in contents(model.requests[-1])
        assert "line 7999:" in contents(model.requests[-1])
        assert isinstance(session.log[0], User)
        assert len(session.log[0].text) > 4 * WINDOW


@pytest.mark.usefixtures("window")
async def test_sixty_turns_go_on_in_a_small_window_and_every_request_stays_in_the_log(talk: Talk) -> None:
    replies = [
        turn
        for number in range(60)
        for turn in (call("part", {"number": 2}, call_id=f"c{number}"), say(f"answer {number}"))
    ]
    model = as_needed(*replies)
    async with talk(model, functions=(part,)) as session:
        for number in range(60):
            end = await session.send(f"request number {number}")
            assert end.text == f"answer {number}"
        assert [one.text for one in session.log if isinstance(one, User)] == [
            f"request number {number}" for number in range(60)
        ]
        seen = contents(model.requests[-1])
        assert "request number 59" in seen
        assert "request number 40" in seen


@pytest.mark.usefixtures("window")
async def test_a_resumed_session_sees_what_it_saw_before(talk: Talk) -> None:
    model = as_needed(*(call("part", {"number": number}) for number in range(1, 6)), say("one"), say("two"))
    async with talk(model, functions=(part,)) as session:
        await session.send("Read five parts.")
        assert compactions(session)
    before = model.requests[-1]["messages"]
    async with talk(model, functions=(part,), resume=session.id) as resumed:
        await resumed.send("And now?")
    assert model.requests[-1]["messages"][: len(before)] == before


@pytest.mark.usefixtures("window")
async def test_without_a_model_for_the_record_an_outline_stands_and_none_is_asked_for_ten_minutes(
    talk: Talk,
) -> None:
    asked: list[str] = []
    clock = VirtualClock()

    def reply(request: dict[str, Any]) -> Turn:
        if is_record(request):
            asked.append("record")
            return say("I would rather not.", breaks_prefix=True)
        return counted(say("words " * 800), request)

    model = ScriptedModel(*[reply] * 200)
    async with talk(model, ports=clock.ports(SYSTEM_PORTS)) as session:
        heard = [event for number in range(40) for event in await events_of(session, f"request {number}")]
        assert len([one for one in compactions(session) if one.fallback]) > 1
        assert asked == ["record", "record"]
        assert "## Entries" in compactions(session)[-1].summary
        assert any(isinstance(one, Notice) and "No model wrote a usable summary" in one.text for one in heard)
        await session.compact()
        assert asked == ["record"] * 4, "a person who asks does not wait"
        assert session.context_tokens == compactions(session)[-1].after
        clock.advance(601)
        for number in range(20):
            await session.send(f"request {number}")
        assert asked == ["record"] * 6


@pytest.mark.usefixtures("window")
async def test_room_that_saves_nothing_is_tried_twice_and_told_once_also_after_a_resume(talk: Talk) -> None:
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> Turn:
        if is_record(request):
            asked.append("record")
            return say(RECORD, breaks_prefix=True)
        return counted(say("short"), request)

    model, prompt = ScriptedModel(*[reply] * 200), "rule " * 12_100
    async with talk(model, system=prompt) as session:
        heard = [event for number in range(30) for event in await events_of(session, f"hello {number}")]
        made = compactions(session)
        assert [one.saved_nothing for one in made[-2:]] == [True, True]
        assert sum(isinstance(one, CompactionStarted) for one in heard) == len(made)
        assert len(asked) <= len(made) <= 6
        told = [one.text for one in heard if isinstance(one, Notice)]
        assert len([one for one in told if "/compress TOPIC" in one and "/new" in one]) == len(told) == 1
    async with talk(model, system=prompt, resume=session.id) as resumed:
        heard = await events_of(resumed, "hello again")
        assert compactions(resumed) == made
        assert not any(isinstance(one, CompactionStarted | Notice) for one in heard)


@pytest.mark.usefixtures("window")
async def test_room_that_saved_nothing_twice_is_made_where_the_server_refuses(talk: Talk) -> None:
    model = as_needed(*(say("words " * 300) for _ in range(60)))
    async with talk(model, system="rule " * 11_000) as session:
        for number in range(40):
            end = await session.send(f"request {number}")
            assert end.outcome == "done"
        assert any(not one.saved_nothing for one in compactions(session))


async def test_after_a_change_to_a_larger_window_room_that_saved_nothing_is_tried_again(
    talk: Talk, environ: dict[str, str]
) -> None:
    settings(environ, {"scripted": WINDOW, "large": 3 * WINDOW})
    model = ScriptedModel(*[lambda request: counted(say("words " * 300), request)] * 200)
    async with talk(model, system="rule " * 12_100) as session:
        for number in range(10):
            await session.send(f"request {number}")
        before = compactions(session)
        assert [one.saved_nothing for one in before[-2:]] == [True, True]
        await session.switch_model(replace(session.endpoint, model="large", context_window=3 * WINDOW))
        for number in range(80):
            await session.send(f"request {number}")
        assert compactions(session)[len(before)].before > before[-1].before * 2


@pytest.mark.usefixtures("window")
async def test_the_record_after_an_outline_is_made_from_the_entries_that_it_lists(talk: Talk) -> None:
    asked: list[str] = []
    written = ["", "", RECORD, RECORD]
    answers = [f"answer {number} {'word ' * 400}tail of {number}." for number in range(24)]
    left = list(answers)

    def reply(request: dict[str, Any]) -> Turn:
        if not is_record(request):
            return counted(say(left.pop(0)), request)
        asked.append(request["messages"][-1]["content"])
        return say(written.pop(0) or "I would rather not.", breaks_prefix=True)

    async def record(session: Session, turns: int) -> Compaction | None:
        for _ in range(turns):
            await session.send("go on")
        return await session.compact()

    async with talk(ScriptedModel(*[reply] * 60)) as session:
        outline = await record(session, 12)
        made = [await record(session, 6), await record(session, 6)]
    assert outline is not None
    assert (outline.fallback, "answer 5" in outline.summary, "tail of 5" in outline.summary) == (
        True, True, False,
    )  # fmt: skip
    assert [one and (one.fallback, one.summary) for one in made] == [(False, RECORD)] * 2
    _, _, afterwards, later = asked
    assert ("The record so far follows" in afterwards, "tail of 5." in afterwards) == (False, True)
    assert "answer 2 " in afterwards
    assert (RECORD in later, "tail of 5." in later) == (True, False)


async def test_what_does_not_fit_the_summing_model_is_listed_and_the_rest_is_whole(
    talk: Talk, environ: dict[str, str]
) -> None:
    settings(environ, {"scripted": 200_000, "small": 17_000})
    config = Path(environ["HERMES_HOME"], "config.yaml")
    config.write_text(config.read_text() + "auxiliary:\n  compression: {model: small}\n")
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> Turn:
        if not is_record(request):
            return counted(say("noted"), request)
        asked.append(contents(request))
        return say(RECORD, breaks_prefix=True)

    async with talk(ScriptedModel(*[reply] * 60)) as session:
        for number in range(30):
            await session.send(f"request {number} " + "x" * 3_000 + f" tail {number}")
        entry = await session.compact()
    assert entry is not None
    assert not entry.fallback
    (question,) = asked
    assert len(question) / 4 < 17_000 * 0.8
    assert "tail 20" in question
    assert "tail 2\n" not in question
    assert "The user said: request 2 xxx" in question


@pytest.mark.parametrize(("words", "stays"), [(3_000, True), (14_000, False)])
async def test_a_long_first_request_stays_as_it_is_unless_the_rest_would_not_fit_beside_it(
    talk: Talk, environ: dict[str, str], words: int, *, stays: bool
) -> None:
    settings(environ, {"scripted": 40_000})
    first = "detail " * words

    def reply(request: dict[str, Any]) -> Turn:
        return say(RECORD, breaks_prefix=True) if is_record(request) else counted(say("w " * 700), request)

    model = ScriptedModel(*[reply] * 400)
    async with talk(model) as session:
        await session.send(first)
        for number in range(200):
            await session.send(f"request {number}")
            if len(made := compactions(session)) == 3:
                break
        await session.send("more")
    assert ([one.head > 0 for one in made], first.strip() in contents(model.requests[-1])) == (
        [stays] * 3,
        stays,
    )
    assert all(one.after < one.before * 0.9 for one in made)


async def test_first_messages_that_a_smaller_model_has_no_room_for_are_in_the_record_from_then_on(
    talk: Talk, environ: dict[str, str]
) -> None:
    settings(environ, {"scripted": 60_000, "small": WINDOW})
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> Turn:
        if not is_record(request):
            return counted(say("w " * 700), request)
        asked.append(contents(request))
        return say(RECORD, breaks_prefix=True)

    model = ScriptedModel(*[reply] * 400)
    async with talk(model) as session:
        await session.send("Plant the oak. " + "detail " * 8_000)
        while not compactions(session):
            await session.send("go on")
        assert (compactions(session)[0].head > 0, "Plant the oak" in asked[-1]) == (True, False)
        await session.switch_model(replace(session.endpoint, model="small", context_window=WINDOW))
        await session.send("go on")
        last = compactions(session)[-1]
        assert (last.head, last.clip, "Plant the oak" in asked[-1]) == (0, 0, True)


@pytest.mark.parametrize(
    ("more", "asked_first"),
    [("", ""), ("auxiliary:\n  compression: {model: large}\n", "large")],
    ids=["none set", "a larger one set"],
)
async def test_a_session_with_a_small_window_has_its_record_written_by_the_model_that_is_set_for_it(
    talk: Talk, environ: dict[str, str], more: str, asked_first: str
) -> None:
    settings(environ, {"scripted": 16_000, "large": 200_000})
    config = Path(environ["HERMES_HOME"], "config.yaml")
    config.write_text(config.read_text() + more)
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> Turn:
        if not is_record(request):
            return counted(say("words " * 800), request)
        asked.append(request["model"])
        return say(RECORD, breaks_prefix=True)

    async with talk(ScriptedModel(*[reply] * 60)) as session:
        for number in range(20):
            await session.send(f"request {number}")
        made = compactions(session)
    assert made
    assert {one.fallback for one in made} == {not asked_first}
    assert set(asked) == {asked_first} - {""}


@pytest.mark.usefixtures("window")
async def test_a_model_is_asked_for_a_record_again_ten_minutes_after_it_wrote_none(talk: Talk) -> None:
    asked: list[float] = []
    clock = VirtualClock()
    ports = clock.ports(SYSTEM_PORTS)

    def reply(request: dict[str, Any]) -> Turn:
        if is_record(request):
            asked.append(ports.monotonic())
            return say("I would rather not.", breaks_prefix=True)
        return counted(say("words " * 800), request)

    async with talk(ScriptedModel(*[reply] * 400), ports=ports) as session:
        begun = ports.monotonic()
        for number in range(120):
            clock.advance(30)
            await session.send(f"request {number}")
        pauses = [later - sooner for sooner, later in zip(asked[::2], asked[2::2], strict=False)]
        assert pauses
        assert all(600 <= one < 1_200 for one in pauses), (begun, asked)


async def test_a_person_sums_up_with_a_topic_and_pinned_facts_stay(talk: Talk) -> None:
    model = as_needed(*(say(f"answer {number}" * 50) for number in range(12)))
    async with talk(model) as session:
        session.pin("The port is 8042.")
        for number in range(10):
            await session.send(f"request {number} " + "x" * 400)
        entry = await session.compact("the port")
        assert entry is not None
        assert (entry.focus, entry.summary) == ("the port", RECORD)
        assert "two thirds of it are for this topic, the rest as short as it can be: the port" in contents(
            model.requests[-1]
        )
        await session.send("And now?")
        seen = contents(model.requests[-1])
        assert "The port is 8042." in seen
        assert "request 8" in seen
        assert session.pins == ("The port is 8042.",)


@pytest.mark.parametrize("toolsets", [(), ("context",)], ids=["without expand", "with expand"])
@pytest.mark.parametrize(("size", "small"), [(WINDOW, False), (16_000, True)], ids=["large", "small"])
async def test_beside_a_record_a_model_reads_that_notes_stay_in_force(
    talk: Talk, environ: dict[str, str], size: int, toolsets: tuple[str, ...], *, small: bool
) -> None:
    settings(environ, {"scripted": size})
    model = as_needed(*(say(f"answer {number} " + "y" * 600) for number in range(9)))
    async with talk(model, toolsets=toolsets) as session:
        for number in range(8):
            await session.send(f"request {number}")
        await session.compact()
        await session.send("And now?")
    prompt, *said = model.requests[-1]["messages"]
    assert ("those from memory too, hold whatever the record says" in prompt["content"]) is not small
    assert "Notes in the system prompt stay in force." in json.dumps(said)


async def test_a_short_conversation_is_left_as_it_is(talk: Talk) -> None:
    async with talk(as_needed(say("hello"))) as session:
        await session.send("hi")
        assert await session.compact() is None
        assert len(session.log) == 2


async def test_what_was_left_out_is_read_again_by_its_number(talk: Talk) -> None:
    model = as_needed(
        *(say(f"answer {number} " + "y" * 600) for number in range(8)),
        call("expand", {"entries": "2"}),
        call("expand", {"entries": "99"}),
        say("done"),
    )
    async with talk(model, toolsets=("context",)) as session:
        for number in range(8):
            await session.send(f"request {number}")
        await session.compact()
        await session.send("What did you say first?")
        first, second = (json.loads(one.content) for one in session.log if isinstance(one, ToolResult))
        assert first == {"text": "[2] assistant: answer 0 " + "y" * 600, "page": 1, "pages": 1}
        assert second == {"error": "There is no entry 99 before this call."}


async def test_a_smaller_model_makes_room_before_its_first_request(
    talk: Talk, environ: dict[str, str]
) -> None:
    settings(environ, {"scripted": 200_000, "small": WINDOW})
    model = as_needed(
        *(call("part", {"number": 1}, call_id=str(one)) for one in range(4)), say("one"), say("two")
    )
    async with talk(model, functions=(part,)) as session:
        await session.send("Read.")
        assert compactions(session) == []
        await session.switch_model(replace(session.endpoint, model="small", context_window=WINDOW))
        await session.send("Go on.")
        assert len(compactions(session)) == 1
        assert [request["model"] for request in model.requests][-1] == "small"


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("parts", [4, 9, 30])
async def test_the_plan_stays_as_it_was_last_written_however_often_room_is_made(
    talk: Talk, parts: int
) -> None:
    steps = [
        {"id": str(one), "content": f"step {one}: " + "look " * 100, "status": "pending"} for one in range(5)
    ]
    done = [{"id": "3", "content": steps[3]["content"], "status": "completed"}]
    model = as_needed(
        call("todo", {"todos": steps}),
        call("todo", {"todos": done, "merge": True}),
        *(call("part", {"number": 1 + number % 8}) for number in range(parts)),
        say("done"),
    )
    async with talk(model, functions=(part,), toolsets=("todo",)) as session:
        await session.send("Read on.")
        assert compactions(session)
        seen, plan = contents(model.requests[-1]), session.todos.read()
    assert [one["status"] for one in plan] == ["pending"] * 3 + ["completed", "pending"]
    for one in plan:
        whole = json.dumps(one)[1:-1]
        assert whole in seen.replace("\\", "") or f"- {one['content']} ({one['status']})" in seen, one["id"]


async def test_a_plan_that_no_result_could_hold_is_refused_and_the_one_before_stays(talk: Talk) -> None:
    some = [{"id": str(one), "content": "x" * 3_900, "status": "pending"} for one in range(9)]
    more = [{**one, "id": f"more {one['id']}"} for one in some]
    model = ScriptedModel(
        call("todo", {"todos": some}), call("todo", {"todos": more, "merge": True}), say("noted")
    )
    async with talk(model, toolsets=("todo",)) as session:
        await session.send("go")
        *_, refused = (json.loads(one.content) for one in session.log if isinstance(one, ToolResult))
        assert session.todos.read() == some
    assert refused["error"].startswith("A plan has at most 40000 characters in all; this would be 7")


async def test_summing_up_that_a_person_stops_is_not_told_as_nothing_to_do(talk: Talk) -> None:
    asked = anyio.Event()

    def reply(request: dict[str, Any]) -> Turn:
        if not is_record(request):
            return counted(say("word " * 400), request)
        asked.set()
        return say(RECORD, pause=60, breaks_prefix=True)

    async with talk(ScriptedModel(*[reply] * 20)) as session:
        for _ in range(8):
            await session.send("go on")
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await asked.wait()
                session.interrupt()

            group.start_soon(stop)
            with pytest.raises(HermesError, match="This was stopped; nothing was summed up"):
                await session.compact()
        before = len(session.log)
        assert (await session.send("and on")).outcome == "done"
        assert len(session.log) == before + 2
