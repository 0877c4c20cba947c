"""What a session does now is told by its events."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.activity import Activity, RunningCall, after, progress
from hermes.types.error import Failure
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    CompactionStarted,
    Event,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, ToolCall
from hermes.types.question import Clarify, Reply
from hermes.types.usage import Usage

MAKE = ToolCall(id="a", name="terminal", arguments={"command": "make"})
LOOK = ToolCall(id="b", name="read_file", arguments={"path": "x"})
END = TurnFinished(turn=1, outcome="done", text="", usage=Usage(), seconds=1.0)
TURN: list[Event] = [
    TurnStarted(turn=1),
    StepStarted(step=1, model="m"),
    ThinkingDelta(text="hm"),
    TextDelta(text="so"),
    Attempted(
        attempt=1, attempts=1, provider="p", model="m", seconds=1.0, usage=Usage(requests=1), action="done"
    ),
    Added(message=Assistant(id="r", at=0.0, text="so", calls=(MAKE, LOOK), model="m")),
    ToolStarted(call=MAKE, emoji=""),
    ToolStarted(call=LOOK, emoji=""),
    Asked(id="q", question=Clarify(text="which?")),
    Answered(id="q", answer=Reply(text="this"), by="cli"),
    ToolProgress(call_id="a", text="cc"),
    ToolFinished(call_id="b", seconds=1.0, failed=False),
    ToolFinished(call_id="a", seconds=1.0, failed=False),
    CompactionStarted(),
    END,
]


def test_each_event_of_a_turn_says_what_is_done_and_since_when() -> None:
    told, activity = [], Activity()
    for now, event in enumerate(TURN):
        activity = after(activity, event, float(now))
        told.append((activity.words, activity.since))
    assert told == [
        ("starting", 0.0), ("waiting for the model", 1.0), ("thinking", 2.0), ("writing", 3.0), ("writing", 3.0),
        ("working", 5.0), ("running terminal make", 6.0), ("running terminal make and 1 more", 6.0),
        ("waiting for an answer", 8.0), ("running terminal make and 1 more", 6.0),
        ("running terminal make and 1 more", 6.0), ("running terminal make", 6.0), ("working", 5.0),
        ("summing up older messages", 13.0), ("idle", 14.0),
    ]  # fmt: skip
    assert activity == Activity(
        phase="idle", phase_since=14.0, heard=14.0, began=0.0, step=1, requests=1, calls=2
    )


def test_what_goes_on_is_told_with_when_its_last_output_came() -> None:
    quiet = Activity(phase="working", running=(RunningCall(call=MAKE, since=0.0),))
    loud = Activity(phase="working", running=(RunningCall(call=MAKE, since=0.0, output=160.0),))
    waiting = Activity(phase="waiting", phase_since=100.0)
    assert [progress(one, 180.0) for one in (quiet, loud, waiting)] == [
        "running terminal make, 3m 00s, no output yet",
        "running terminal make, 3m 00s, last output 20.0s ago",
        "waiting for the model, 1m 20s",
    ]


@given(st.lists(st.sampled_from(TURN)))
def test_however_events_come_the_end_of_a_turn_is_rest_and_time_never_runs_back(events: list[Event]) -> None:
    activity = Activity()
    for now, event in enumerate(events):
        activity = after(activity, event, float(now))
        assert activity.since <= activity.heard == float(now)
    ended = after(activity, END, float(len(events)))
    assert (ended.words, ended.running, ended.asked) == ("idle", (), ())


def test_between_two_requests_it_is_told_that_it_waits_to_try_again() -> None:
    refused = Failure(reason="connection_refused", message="no")
    again = Attempted(
        attempt=1, attempts=2, provider="p", model="m", seconds=1.0, usage=Usage(), action="wait",
        failure=refused, delay=90.0,
    )  # fmt: skip
    waiting = after(Activity(phase="waiting", phase_since=10.0), again, 20.0)
    told = [progress(waiting, now) for now in (80.0, 115.0)]
    assert told == ["waiting to try the model again, 1m 10s", "waiting for the model, 1m 45s"]
