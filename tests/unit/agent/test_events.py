import gc
from typing import get_args

import anyio
import pytest

from hermes.agent import event_codec
from hermes.agent.listeners import LONGEST, QUEUED, Listeners
from hermes.types.error import Failure
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
    Event,
    EventStamp,
    GoalChanged,
    Notice,
    PrefixBroken,
    ReplyRestarted,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    Titled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.goal import Goal
from hermes.types.message import Assistant, ContextBlock, ToolCall, ToolResult, User
from hermes.types.question import Approve, Clarify, Deny, Grant, Reply
from hermes.types.usage import Usage

pytestmark = pytest.mark.anyio


def notice(text: str) -> Notice:
    return Notice(level="info", text=text)


async def test_a_slow_reader_gets_text_merged_and_nothing_else_lost() -> None:
    listeners = Listeners(lambda: 7.0, session="s", parent="p")
    sent: list[Event] = [
        TextDelta(text="a"),
        TextDelta(text="b"),
        notice("1"),
        notice("2"),
        ThinkingDelta(text="x"),
        TextDelta(text="c"),
        TextDelta(text="d"),
    ]
    with listeners.watch() as listener:
        for event in sent:
            listeners.emit(event)
        listeners.close()
        got = [event async for event in listener]
    assert got == [
        TextDelta(text="ab"),
        notice("1"),
        notice("2"),
        ThinkingDelta(text="x"),
        TextDelta(text="cd"),
    ]


async def test_text_that_was_put_together_is_stamped_as_its_last_piece() -> None:
    listeners = Listeners(lambda: 7.0, session="s")
    with listeners.watch() as listener:
        for text in "abc":
            listeners.emit(TextDelta(text=text))
        first = await anext(listener)
        listeners.emit(TextDelta(text="d"))
        assert (first, first.stamp.sequence) == (TextDelta(text="abc"), 3)
        assert await anext(listener) == TextDelta(text="d")
    assert list(listeners.since(0)) == [TextDelta(text=text) for text in "abcd"]


async def test_every_listener_hears_everything_from_when_it_came() -> None:
    listeners = Listeners(lambda: 7.0, session="s", parent="p")
    with listeners.watch() as early:
        listeners.emit(notice("1"))
        with listeners.watch() as late:
            listeners.emit(notice("2"))
            listeners.close()
            assert [event async for event in early] == [notice("1"), notice("2")]
            assert [event async for event in late] == [notice("2")]


async def test_a_waiting_reader_is_woken() -> None:
    listeners = Listeners(lambda: 7.0, session="s", parent="p")
    with listeners.watch() as listener, anyio.fail_after(2):
        async with anyio.create_task_group() as group:

            async def later() -> None:
                await anyio.sleep(0.01)
                listeners.emit(notice("at last"))

            group.start_soon(later)
            assert await anext(listener) == notice("at last")


async def test_events_carry_session_turn_number_time_and_parent_and_can_be_read_again_from_a_number() -> None:
    listeners = Listeners(lambda: 7.0, session="s", parent="p")
    listeners.emit(notice("1"))
    listeners.turn = 3
    for text in "ab":
        listeners.emit(TextDelta(text=text))
    listeners.emit(notice("2"))
    assert [event.stamp for event in listeners.since(0)] == [
        EventStamp("s", 0, 1, 7.0, "p"),
        EventStamp("s", 3, 2, 7.0, "p"),
        EventStamp("s", 3, 3, 7.0, "p"),
        EventStamp("s", 3, 4, 7.0, "p"),
    ]
    with listeners.watch(since=2) as listener:
        listeners.emit(notice("3"))
        listeners.close()
        assert [event async for event in listener] == [TextDelta(text="b"), notice("2"), notice("3")]


async def test_no_collector_looks_at_the_events_that_are_kept() -> None:
    listeners = Listeners(lambda: 7.0, session="s")
    kept = listeners.emit(TextDelta(text="a"))
    assert (gc.is_tracked(kept), gc.is_tracked(kept.stamp)) == (False, False)


async def test_a_reader_that_never_reads_costs_a_bounded_queue_and_loses_no_other_event() -> None:
    listeners = Listeners(lambda: 0.0, session="s")
    with listeners.watch() as listener:
        for number in range(QUEUED):
            listeners.emit(ToolProgress(call_id=str(number % 2), text="x" * 1000))
            if number % 500 == 0:
                listeners.emit(notice(str(number)))
        for _ in range(QUEUED):
            listeners.emit(ToolProgress(call_id="0", text="y"))
            listeners.emit(ToolProgress(call_id="1", text="z"))
        listeners.close()
        got = [event async for event in listener]
    assert [event.text for event in got if isinstance(event, Notice)] == ["0", "500", "1000", "1500"]
    assert len(got) <= QUEUED + 1
    streamed = [event.text for event in got if isinstance(event, ToolProgress)]
    assert sum(map(len, streamed)) <= 2 * (LONGEST + QUEUED * 1000)
    assert all(len(text) <= LONGEST + 100 for text in streamed)


RESULT = ToolResult(
    id="r", at=1.0, call_id="c", name="n", content="{}", blocks=(ContextBlock(kind="other", text="x"),)
)
USAGE = Usage(input_tokens=3, requests=1)
EVENTS: list[Event] = [
    TurnStarted(turn=1),
    StepStarted(step=1, model="m"),
    TextDelta(text="t\ud800"),
    ThinkingDelta(text="t"),
    Added(message=User(id="u", at=1.0, text="hi", origin="library")),
    Added(message=Assistant(id="a", at=1.0, calls=(ToolCall(id="c", name="n", arguments={"x": [1]}),))),
    Added(message=RESULT),
    ToolStarted(call=ToolCall(id="c", name="n", arguments={}), emoji="⚡"),
    ToolProgress(call_id="c", text="o"),
    ToolFinished(call_id="c", seconds=0.5, failed=True),
    Asked(id="q", question=Approve(command="x", cwd="/", reasons=("r",), rule="r")),
    Asked(id="q", question=Clarify(text="?", options=("a",))),
    Answered(id="q", answer=Grant(scope="session"), by="person"),
    Answered(id="q", answer=Deny(reason="no"), by="policy"),
    Answered(id="q", answer=Reply(text="a"), by="person"),
    Attempted(
        attempt=1,
        attempts=2,
        provider="p",
        model="m",
        seconds=0.1,
        usage=USAGE,
        action="wait",
        failure=Failure(reason="timeout", message="late"),
    ),
    ReplyRestarted(void="v"),
    PrefixBroken(reason="r", cost=0.5),
    CompactionStarted(tokens=9),
    Notice(level="info", text="t"),
    ChildChanged(call_id="c", child="s2", goal="g", state="running", doing="step 2", tokens=9, seconds=1.5),
    GoalChanged(goal=Goal(outcome="o", stop_when="s", state="blocked", turns=2, reason="r")),
    GoalChanged(goal=None),
    Titled(title="t"),
    TurnFinished(
        turn=1,
        outcome="done",
        text="t",
        usage=USAGE,
        seconds=1.0,
        unsent=(ContextBlock(kind="note", text="late", source="cli", id="n1"),),
    ),
]


def test_every_event_survives_its_codec_with_its_stamp() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    listeners = Listeners(lambda: 2.5, session="s")
    for event in EVENTS:
        listeners.emit(event)
        back = event_codec.decode(event_codec.encode(event))
        lossless = back if not isinstance(back, TextDelta) else TextDelta(text="t\ud800")
        assert (lossless, back.stamp) == (event, event.stamp)
