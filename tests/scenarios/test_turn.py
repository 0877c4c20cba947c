import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.step_limit import LIMIT_WORDS, OVER_LIMIT
from hermes.testing import ScriptedModel, Turn, call, calls, fail, raw, say
from hermes.types.event import (
    Added,
    Attempted,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, ToolResult, User

from .conftest import HASTY, Talk, events_of, kinds

pytestmark = pytest.mark.anyio


@hermes.tool(outside=False)
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


@hermes.tool
async def nap(seconds: float) -> str:
    """Sleep."""
    await anyio.sleep(seconds)
    return "rested"


def contents(session: Session) -> list[Any]:
    return [json.loads(message.content) for message in session.log if isinstance(message, ToolResult)]


async def test_a_question_is_answered_in_words(talk: Talk) -> None:
    async with talk(ScriptedModel("Hello there.")) as session:
        end = await session.send("hi")
    assert (end.outcome, end.text, end.turn, end.usage.input_tokens, end.usage.cache_read) == (
        "done",
        "Hello there.",
        1,
        100,
        80,
    )


async def test_events_tell_the_turn_in_order(talk: Talk) -> None:
    model = ScriptedModel(call("double", {"number": 21}, text="Let me see."), say("It is 42.", size=100))
    async with talk(model, functions=(double,)) as session:
        events = await events_of(session, "twice 21?")
    shown = [type(event) for event in events]
    assert shown == [
        TurnStarted,
        Added,
        StepStarted,
        TextDelta,
        Attempted,
        Added,
        ToolStarted,
        ToolFinished,
        Added,
        StepStarted,
        TextDelta,
        Attempted,
        Added,
        *shown[-2:],
    ]
    assert isinstance(events[-1], TurnFinished)
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    assert finished.result == session.log[2]
    assert [event.message.kind for event in events if isinstance(event, Added)] == [
        "user",
        "assistant",
        "tool_result",
        "assistant",
    ]


async def test_a_tool_result_goes_back_to_the_model(talk: Talk) -> None:
    model = ScriptedModel(call("double", {"number": 21}, call_id="c1"), "42")
    async with talk(model, functions=(double,)) as session:
        await session.send("twice 21?")
    assert model.requests[1]["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"number": 21}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"result": 42}'},
    ]  # fmt: skip


async def test_results_come_back_in_call_order_whatever_finishes_first(talk: Talk) -> None:
    model = ScriptedModel(
        calls(("nap", {"seconds": 0.2}), ("double", {"number": 1}), ("nap", {"seconds": 0.0})), "done"
    )
    async with talk(model, functions=(nap, double)) as session:
        await session.send("go")
    assert [message.name for message in session.log if isinstance(message, ToolResult)] == [
        "nap",
        "double",
        "nap",
    ]


async def test_a_wrong_argument_is_answered_with_what_is_allowed(talk: Talk) -> None:
    model = ScriptedModel(call("double", {"number": "many"}), "sorry")
    async with talk(model, functions=(double,)) as session:
        await session.send("go")
    (answer,) = contents(session)
    assert answer["error"].startswith("Invalid arguments for double: number: 'many' is not of type 'integer'")
    assert answer["error"].endswith("Parameters (* required): number* (integer)")


async def test_harmless_coercions_are_made(talk: Talk) -> None:
    model = ScriptedModel(call("double", {"number": "21"}), "42")
    async with talk(model, functions=(double,)) as session:
        await session.send("go")
    assert contents(session) == [{"result": 42}]


async def test_an_unknown_tool_is_answered_with_the_nearest_name(talk: Talk) -> None:
    model = ScriptedModel(call("doubel", {}), "sorry")
    async with talk(model, functions=(double,)) as session:
        await session.send("go")
    assert contents(session) == [{"error": "Unknown tool: doubel. Did you mean double?"}]


async def test_malformed_arguments_are_never_run_and_three_in_a_row_end_the_turn(talk: Talk) -> None:
    ran: list[int] = []

    @hermes.tool
    def note(number: int) -> str:
        """Note."""
        ran.append(number)
        return "ok"

    model = ScriptedModel(*[call("note", '{"number": 1') for _ in range(3)])
    async with talk(model, functions=(note,)) as session:
        end = await session.send("go")
    assert (ran, end.outcome) == ([], "failed")
    assert all("not valid JSON" in content["error"] for content in contents(session))
    assert isinstance(session.log[-1], Assistant)


async def test_a_reply_cut_by_length_is_never_executed(talk: Talk) -> None:
    cut = call("double", {"number": 1})
    cut = Turn(pieces=tuple(piece.replace(b'"tool_calls"}]', b'"length"}]') for piece in cut.pieces))
    async with talk(ScriptedModel(cut, "ok"), functions=(double,)) as session:
        await session.send("go")
    (answer,) = contents(session)
    assert "cut by the output limit" in answer["error"]


async def test_at_the_step_limit_the_model_is_told_and_answers_with_the_prefix_as_it_was(talk: Talk) -> None:
    step = call("double", {"number": 1})
    model = ScriptedModel(step, step, "Twice two.")
    async with talk(model, functions=(double,), max_steps=2) as session:
        end = await session.send("go on")
        log = session.log
    assert (end.outcome, end.text) == ("budget", "Twice two.")
    assert len({json.dumps(request["tools"]) for request in model.requests}) == 1
    told = [str(request["messages"][-1]["content"]) for request in model.requests]
    assert [LIMIT_WORDS["last"] in text for text in told] == [False, False, True]
    assert [block.kind for one in log if isinstance(one, ToolResult) for block in one.blocks] == ["limit"]


async def test_calls_after_the_step_limit_are_not_run_and_a_summary_is_asked_for(talk: Talk) -> None:
    step = call("count", {"number": 1})
    model = ScriptedModel(step, step, "I counted once.")
    ran: list[int] = []

    @hermes.tool
    def count(number: int) -> int:
        """Count."""
        ran.append(number)
        return number

    async with talk(model, functions=(count,), max_steps=1) as session:
        end = await session.send("go on for ever")
        again = contents(session)
    assert (end.outcome, end.text, ran) == ("budget", "I counted once.", [1])
    assert [LIMIT_WORDS["grace"] in str(request["messages"]) for request in model.requests] == [
        False,
        False,
        True,
    ]
    assert again[-1] == {"error": OVER_LIMIT, "status": "not_run"}


async def test_a_model_that_only_calls_tools_is_left_and_the_turn_ends_in_words(talk: Talk) -> None:
    step = call("double", {"number": 1})
    async with talk(ScriptedModel(step, step, step, step), functions=(double,), max_steps=2) as session:
        end = await session.send("go on for ever")
    assert (end.outcome, end.text) == (
        "budget",
        "(The step limit of 2 was reached before an answer. Calls run: 2, the last one double.)",
    )


async def test_an_empty_reply_is_asked_for_once_more(talk: Talk) -> None:
    async with talk(ScriptedModel("", "now I speak")) as session:
        end = await session.send("hi")
    assert end.text == "now I speak"


async def test_a_call_that_cannot_be_used_is_answered_with_its_fault_whatever_its_name(talk: Talk) -> None:
    async with talk(ScriptedModel(call("nowhere", '{"number": '), "done"), functions=(double,)) as session:
        await session.send("hi")
    assert "not valid JSON" in contents(session)[0]["error"]


async def test_a_passing_fault_is_retried_and_counted(talk: Talk) -> None:
    model = ScriptedModel(fail(429, "slow down", headers={"retry-after": "0"}), fail(503), "here")
    async with talk(model, ports=HASTY) as session:
        events = await events_of(session, "hi")
    retries = [event for event in events if isinstance(event, Attempted) and event.goes_on]
    assert [
        (event.failure.reason, event.failure.status, event.attempt) for event in retries if event.failure
    ] == [
        ("rate_limit", 429, 1),
        ("overloaded", 503, 2),
    ]
    assert retries[0].delay == 0
    assert isinstance(events[-1], TurnFinished)
    assert (events[-1].text, events[-1].usage.requests) == ("here", 3)


async def test_a_refused_key_is_not_retried_and_the_turn_ends_in_words(talk: Talk) -> None:
    model = ScriptedModel(fail(401, "bad key"), "back again")
    async with talk(model) as session:
        end = await session.send("hi")
        again = await session.send("and now?")
    assert end.failure is not None
    assert (end.outcome, end.failure.reason, end.failure.message) == ("failed", "auth", "bad key")
    assert kinds(session.log) == ["user", "assistant", "user", "assistant"]
    assert again.text == "back again"


@pytest.mark.parametrize(
    "fault",
    [
        raw(b'data: {"choices":[{"delta":{"content":"half a"}}]}\n\n'),
        raw(b"data: {not json}\n\n"),
        raw(b"<html>"),
    ],
)
async def test_a_broken_stream_is_tried_again(talk: Talk, fault: Turn) -> None:
    async with talk(ScriptedModel(fault, "whole answer"), ports=HASTY) as session:
        end = await session.send("hi")
    assert (end.text, [message.text for message in session.log if isinstance(message, Assistant)]) == (
        "whole answer",
        ["whole answer"],
    )


async def test_a_lone_surrogate_never_kills_a_session(talk: Talk) -> None:
    broken = raw(
        b'data: {"choices":[{"delta":{"content":"a\\ud800b"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    async with talk(ScriptedModel(broken, "fine")) as session:
        first = await session.send("say \ud800 something")
        second = await session.send("again")
    assert (first.text, second.text) == ("a\ufffdb", "fine")
    assert isinstance(session.log[0], User)
    assert session.log[0].text == "say \ufffd something"


async def test_an_interrupt_during_a_reply_keeps_what_was_said(talk: Talk) -> None:
    async with talk(ScriptedModel(say("one two three four five", size=4, pause=0.05), "next")) as session:
        async with session.stream("count") as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    session.interrupt()
        assert isinstance(session.log[-1], Assistant)
        assert session.log[-1].text.startswith("one")
        assert session.log[-1].text.endswith("(stopped by the user)")
        assert (await session.send("go on")).text == "next"


async def test_an_interrupt_leaves_every_call_answered_within_a_second(talk: Talk) -> None:
    model = ScriptedModel(
        calls(("double", {"number": 2}), ("nap", {"seconds": 30}), ("nap", {"seconds": 30})), "next"
    )
    async with talk(model, functions=(nap, double)) as session:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await anyio.sleep(0.2)
                session.interrupt()

            group.start_soon(stop)
            with anyio.fail_after(1.2):
                end = await session.send("sleep")
        assert end.outcome == "interrupted"
        assert [answer.get("result", answer.get("status")) for answer in contents(session)] == [
            4,
            "interrupted",
            "interrupted",
        ]
        assert kinds(session.log) == [
            "user",
            "assistant",
            "tool_result",
            "tool_result",
            "tool_result",
            "assistant",
        ]
        assert (await session.send("and?")).text == "next"


async def test_a_sync_tool_is_left_behind_by_an_interrupt(talk: Talk) -> None:
    release = threading.Event()

    @hermes.tool
    def block() -> str:
        """Block the worker."""
        release.wait(10)
        return "late"

    async with (
        talk(ScriptedModel(call("block", {})), functions=(block,)) as session,
        anyio.create_task_group() as group,
    ):

        async def stop() -> None:
            await anyio.sleep(0.1)
            session.interrupt()

        group.start_soon(stop)
        with anyio.fail_after(1):
            end = await session.send("go")
        release.set()
    assert end.outcome == "interrupted"


async def test_verbs_work_from_another_thread(talk: Talk) -> None:
    model = ScriptedModel(call("nap", {"seconds": 0.3}), call("nap", {"seconds": 30}))
    async with talk(model, functions=(nap,)) as session:

        def other() -> None:
            threading.Event().wait(0.1)
            assert session.steer("hurry up")
            threading.Event().wait(0.4)
            session.interrupt()

        thread = threading.Thread(target=other)
        thread.start()
        with anyio.fail_after(3):
            end = await session.send("sleep")
        await anyio.to_thread.run_sync(thread.join)
    notes = [message.note for message in session.log if isinstance(message, ToolResult)]
    assert (end.outcome, notes) == ("interrupted", ["the user said: hurry up", ""])
    assert model.requests[1]["messages"][-1]["content"].endswith(
        "[While you were working: the user said: hurry up]"
    )


async def test_a_steer_rides_on_the_last_result_of_a_batch(talk: Talk) -> None:
    model = ScriptedModel(calls(("nap", {"seconds": 0.1}), ("nap", {"seconds": 0.1})), "ok")
    async with talk(model, functions=(nap,)) as session, session.stream("go") as stream:
        async for event in stream:
            if isinstance(event, ToolStarted):
                session.steer("look at a.py")
    notes = [message.note for message in session.log if isinstance(message, ToolResult)]
    assert notes[0] == ""
    assert notes[1].startswith("the user said: look at a.py")


async def test_a_steer_without_a_turn_is_refused(talk: Talk) -> None:
    async with talk(ScriptedModel()) as session:
        assert session.steer("hello?") is False


async def test_a_second_turn_at_the_same_time_is_refused(talk: Talk) -> None:
    async with talk(ScriptedModel(say("slow", pause=0.1))) as session, anyio.create_task_group() as group:
        group.start_soon(session.send, "one")
        await anyio.sleep(0.05)
        with pytest.raises(Exception, match="A turn is running"):
            await session.send("two")


async def test_undo_drops_the_last_turn_from_the_log_and_the_store(talk: Talk) -> None:
    async with talk(ScriptedModel("one", "two", say("three", breaks_prefix=True))) as session:
        await session.send("first")
        await session.send("second")
        assert await session.undo() == "second"
        await session.send("third")
        name = session.id
    async with talk(ScriptedModel(), resume=name) as again:
        assert [message.text for message in again.log if isinstance(message, User | Assistant)] == [
            "first",
            "one",
            "third",
            "three",
        ]


async def test_a_resumed_session_sends_the_same_bytes_as_the_one_before(talk: Talk, tmp_path: Path) -> None:
    first = ScriptedModel(call("double", {"number": 3}, text="hm"), "six", "seven")
    async with talk(first, functions=(double,)) as session:
        await session.send("go")
        name = session.id
    second = ScriptedModel("eight")
    async with talk(second, functions=(double,), resume=name[:15]) as again:
        assert again.id == name
        await again.send("more")
    before, after = first.requests[-1], second.requests[0]
    assert json.dumps(after["messages"][: len(before["messages"])]) == json.dumps(before["messages"])
    assert after["tools"] == before["tools"]


async def test_a_title_is_taken_from_the_first_words(talk: Talk) -> None:
    async with talk(ScriptedModel("ok")) as session:
        await session.send(
            "Please fix the failing test in the parser module, it has been red for three days now\nthanks"
        )
    assert session.title == "Please fix the failing test in the parser module, it has…"


async def test_a_listener_that_leaves_early_interrupts_the_turn(talk: Talk) -> None:
    async with talk(ScriptedModel(say("a long story", size=1, pause=0.1))) as session:
        with anyio.fail_after(2):
            async with session.stream("tell") as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        break
        assert session.busy is False
        assert kinds(session.log) == ["user", "assistant"]


async def test_the_end_that_send_gives_is_the_one_that_listeners_hear(talk: Talk) -> None:
    async with talk(ScriptedModel("hi")) as session:
        with session.watch() as listener:
            end = await session.send("hello")
            listener.close()
            heard = [event async for event in listener]
    assert end.stamp == heard[-1].stamp
    assert (end.stamp.session, end.stamp.turn, end.stamp.sequence > 0) == (session.id, 1, True)
