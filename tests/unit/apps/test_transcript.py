"""What of a turn stays in the scrollback, told event by event."""

import json

import pytest

from hermes.apps.tui.transcript import Transcript
from hermes.present.spans import plain
from hermes.present.theme import Theme
from hermes.types.error import Failure
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    Event,
    Notice,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, ToolCall, ToolResult
from hermes.types.question import Approve, Clarify, Deny, Grant, Reply
from hermes.types.usage import Usage

ONE = ToolCall(id="1", name="terminal", arguments={"command": "make"})
TWO = ToolCall(id="2", name="read_file", arguments={"path": "a.py"})
USAGE = Usage(input_tokens=4300, output_tokens=321, requests=1)


def fed(*events: Event, at: float = 0.0, transcript: Transcript | None = None) -> list[str]:
    transcript = transcript or Transcript(width=80, config_fix="fix it")
    return [plain(row) for event in events for row in transcript.feed(event, at)]


def returned(call: ToolCall, **content: object) -> Added:
    return Added(
        message=ToolResult(
            id=f"r{call.id}", at=0, call_id=call.id, name=call.name, content=json.dumps(content)
        )
    )


def replied(text: str = "", *calls: ToolCall) -> Added:
    return Added(message=Assistant(id="a", at=0, text=text, calls=calls, usage=USAGE))


def ended(outcome: str = "done", failure: Failure | None = None) -> TurnFinished:
    return TurnFinished(turn=1, outcome=outcome, text="", usage=USAGE, seconds=2, failure=failure)  # type: ignore[arg-type]  # a case's word


def working(transcript: Transcript, now: float) -> str:
    return " ".join(plain(row) for row in transcript.working(now, Theme(), 0))


def test_a_reply_that_was_not_streamed_is_shown_all_the_same() -> None:
    assert fed(TurnStarted(turn=1), replied("one\n\ntwo"), ended()) == ["one", "", "two"]


def test_streamed_text_is_not_shown_twice() -> None:
    assert fed(
        TurnStarted(turn=1), TextDelta(text="one\n\ntw"), TextDelta(text="o"), replied("one\n\ntwo"), ended()
    ) == ["one", "", "two"]


def test_text_calls_and_text_stand_apart() -> None:
    rows = fed(
        TurnStarted(turn=1),
        replied("I look.", ONE, TWO),
        ToolStarted(call=ONE, emoji="💻"),
        ToolStarted(call=TWO, emoji="📖"),
        ToolFinished(call_id="2", seconds=0.1, failed=False),
        ToolFinished(call_id="1", seconds=1.0, failed=False),
        returned(ONE, output="ok", exit_code=0),
        returned(TWO, content="1|x"),
        replied("Done."),
        ended(),
    )
    assert [" ".join(row.split()) for row in rows] == [
        "I look.",
        "",
        "💻 run make 1.0s",
        "ok",
        "📖 read a.py:1-1 0.1s",
        "",
        "Done.",
    ]


def planned(number: int, *statuses: str) -> list[Event]:
    call = ToolCall(id=f"p{number}", name="todo", arguments={})
    items = [{"id": str(n), "content": f"step {n}", "status": one} for n, one in enumerate(statuses, 1)]
    return [replied("", call), ToolStarted(call=call, emoji="📋"), returned(call, todos=items)]


def test_a_plan_stands_once_while_it_is_worked_on_and_goes_to_the_scrollback_when_it_is_done() -> None:
    transcript = Transcript(width=60, config_fix="")
    begun = fed(TurnStarted(turn=1), *planned(1, "in_progress", "pending"), transcript=transcript)
    standing = [plain(row) for row in transcript.plan.lines(60, 20)]
    done = fed(*planned(2, "completed", "cancelled"), transcript=transcript)
    assert (begun, standing, done, transcript.plan.lines(60, 20), fed(ended(), transcript=transcript)) == (
        ["📋 plan   step 1                          0.0s  0 of 2"],
        ["plan · 0 of 2", "  ▸ step 1", "  ☐ step 2"],
        ["📋 plan                                   0.0s  1 of 1", "      ☑ step 1", "      ✗ step 2"],
        [],
        [],
    )


def test_of_a_plan_that_is_not_done_the_scrollback_has_how_far_it_came_when_the_turn_ends() -> None:
    transcript = Transcript(width=60, config_fix="")
    fed(TurnStarted(turn=1), *planned(1, "completed", "pending"), transcript=transcript)
    assert fed(ended("interrupted"), transcript=transcript) == [
        "", "plan · 1 of 2", "      ☑ step 1", "      ☐ step 2", "", "✗ stopped · 2.0s",
    ]  # fmt: skip
    assert transcript.plan.lines(60, 20) == []


def test_a_long_plan_leaves_room_in_a_low_window() -> None:
    transcript = Transcript(width=60, config_fix="")
    fed(TurnStarted(turn=1), *planned(1, *["completed"] * 5, *["pending"] * 20), transcript=transcript)
    assert [len(transcript.plan.lines(60, height)) for height in (5, 8, 20, 90)] == [4, 4, 10, 26]
    assert plain(transcript.plan.lines(60, 5)[2]) == "  ☐ step 6"


def test_what_a_file_that_was_written_over_changed_stays_and_can_be_shown_whole() -> None:
    call = ToolCall(id="1", name="write_file", arguments={"path": "a"})
    diff = "--- a/a\n+++ b/a\n@@ -0,0 +1,30 @@\n" + "".join(f"+{n}\n" for n in range(30))
    transcript = Transcript(width=80, config_fix="")
    rows = fed(
        TurnStarted(turn=1),
        replied("", call),
        ToolStarted(call=call, emoji="✍"),
        ToolFinished(call_id="1", seconds=0.1, failed=False, diff=diff),
        returned(call, bytes_written=80),
        transcript=transcript,
    )
    assert (rows[0].endswith("+30 −0"), len(rows)) == (True, 21)
    assert len(transcript.whole(every=False)) == 31


def test_running_calls_are_live_in_call_order() -> None:
    transcript = Transcript(width=80, config_fix="")
    fed(
        TurnStarted(turn=1),
        ToolStarted(call=ONE, emoji=""),
        ToolStarted(call=TWO, emoji=""),
        transcript=transcript,
    )
    fed(
        ToolProgress(call_id="1", text="a\nb\nc\nd\n"),
        ToolFinished(call_id="2", seconds=0.5, failed=False),
        transcript=transcript,
    )
    rows = [" ".join(plain(row).split()) for row in transcript.moving(3.0, Theme(), 0)]
    assert rows == ["💻 run make 3.0s ⠋", "b", "c", "d", "📖 read a.py 0.5s ended"]


def test_a_call_that_has_ended_tells_how_while_another_runs() -> None:
    denied = returned(ONE, status="denied", error="no").message
    assert isinstance(denied, ToolResult)
    transcript = Transcript(width=80, config_fix="")
    fed(
        TurnStarted(turn=1),
        ToolStarted(call=ONE, emoji=""),
        ToolStarted(call=TWO, emoji=""),
        ToolFinished(call_id="1", seconds=0.5, failed=True, result=denied),
        transcript=transcript,
    )
    rows = [" ".join(plain(row).split()) for row in transcript.moving(3.0, Theme(), 0)]
    assert rows == ["💻 run make 0.5s ✗ denied", "📖 read a.py 3.0s ⠋"]


def test_the_output_of_the_last_call_that_ended_stays_until_it_is_printed() -> None:
    result = returned(ONE, output="a\nb\nc\nd").message
    assert isinstance(result, ToolResult)
    transcript = Transcript(width=80, config_fix="")
    fed(
        TurnStarted(turn=1),
        ToolStarted(call=ONE, emoji=""),
        ToolProgress(call_id="1", text="a\nb\nc\nd\n"),
        ToolFinished(call_id="1", seconds=0.5, failed=False, result=result),
        transcript=transcript,
    )
    moving = [plain(row) for row in transcript.moving(3.0, Theme(), 0)]
    assert (len(moving), moving) == (5, fed(Added(message=result), transcript=transcript))


def test_the_calls_of_a_script_stand_below_it_the_last_ones_while_it_runs_and_after() -> None:
    script = ToolCall(id="s", name="execute_code", arguments={"code": "loop()"})
    made = [
        event
        for number in range(1, 6)
        for event in (
            ToolStarted(
                call=ToolCall(id=f"s/{number}", name="read_file", arguments={"path": f"{number}.py"}),
                emoji="📖",
                parent="s",
            ),
            ToolProgress(call_id=f"s/{number}", text="not shown"),
            ToolFinished(call_id=f"s/{number}", seconds=0.5, failed=False),
        )
    ]
    below = ["… 2 earlier", *(f"📖 read {number}.py 0.5s" for number in (3, 4, 5))]
    transcript = Transcript(width=80, config_fix="")
    fed(
        TurnStarted(turn=1),
        replied("", script),
        ToolStarted(call=script, emoji=""),
        *made,
        transcript=transcript,
    )
    moving = [" ".join(plain(row).split()) for row in transcript.moving(3.0, Theme(), 0)]
    assert moving[:5] == ["🐍 code loop() 3.0s ⠋", *below]
    ends = (
        ToolFinished(call_id="s", seconds=4.0, failed=False),
        returned(script, output="ok", exit_code=0, tool_calls_made=5),
    )
    rows = [" ".join(row.split()) for row in fed(*ends, transcript=transcript)]
    assert rows[-6:] == ["🐍 code loop() 4.0s 5 calls", "ok", *below]


def test_the_working_line_tells_what_runs_how_long_and_the_tokens() -> None:
    transcript = Transcript(width=80, config_fix="")
    fed(TurnStarted(turn=1), replied("", ONE), ToolStarted(call=ONE, emoji=""), transcript=transcript)
    assert working(transcript, 18.4) == "⠋ running make · 18s · ↑4.3k ↓321 · Esc stops"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("for i in 1 2; do make $i; done", "make"),
        ("while [ ! -e x ]; do sleep 1; done", "sleep"),
        ("if grep -q x y; then make; fi", "grep"),
        ("CC=gcc make -j2", "make"),
        ("X=1", "X=1"),
    ],
)
def test_the_working_line_names_the_first_program_of_a_command(command: str, program: str) -> None:
    transcript, run = (
        Transcript(width=80, config_fix=""),
        ToolCall(id="p", name="terminal", arguments={"command": command}),
    )
    fed(TurnStarted(turn=1), replied("", run), ToolStarted(call=run, emoji=""), transcript=transcript)
    assert f" running {program} · " in working(transcript, 3.0)


def test_silence_is_told_after_ten_seconds() -> None:
    transcript = Transcript(width=80, config_fix="")
    fed(TurnStarted(turn=1), StepStarted(step=1, model="m"), transcript=transcript)
    assert working(transcript, 9.0) == "⠋ waiting for the model · 9s · Esc stops"
    assert working(transcript, 12.0) == "⠋ waiting for the model · 12s · nothing heard for 12s · Esc stops"


def test_a_notice_of_the_program_does_not_end_a_silence() -> None:
    transcript = Transcript(width=80, config_fix="")
    fed(TurnStarted(turn=1), StepStarted(step=1, model="m"), transcript=transcript)
    transcript.feed(Notice(level="info", text="Still at it: waiting for the model, 1m 00s."), 60.0)
    assert " · nothing heard for 1m 02s · " in working(transcript, 62.0)


def test_a_retry_is_one_line_that_counts_down() -> None:
    transcript = Transcript(width=80, config_fix="")
    failure = Failure(reason="overloaded", message="busy", status=529, address="http://h")
    fed(
        TurnStarted(turn=1),
        Attempted(
            attempt=1,
            attempts=4,
            provider="p",
            model="m",
            seconds=1.0,
            usage=Usage(),
            action="wait",
            failure=failure,
            delay=16.0,
        ),
        transcript=transcript,
    )
    assert [working(transcript, now) for now in (0.0, 6.0)] == [
        "⠋ the model is overloaded (529) · http://h · retrying in 16s · try 1 of 4",
        "⠋ the model is overloaded (529) · http://h · retrying in 10s · try 1 of 4",
    ]


def test_reasoning_folds_to_one_line_and_can_be_shown() -> None:
    transcript = Transcript(width=80, config_fix="")
    rows = fed(
        TurnStarted(turn=1), ThinkingDelta(text="hm, "), ThinkingDelta(text="so"), transcript=transcript
    )
    rows += fed(TextDelta(text="Yes."), replied("Yes."), ended(), at=4.0, transcript=transcript)
    assert rows == ["✻ thought for 4.0s · Ctrl-T", "", "Yes."]
    assert [plain(row) for row in transcript.thought_lines()] == ["  hm, so"]


def test_a_denied_call_is_told_once_with_its_receipt() -> None:
    question = Approve(command="rm -rf x", cwd="/w", reasons=(), rule="r")
    result = ToolResult(
        id="r",
        at=0,
        call_id="1",
        name="terminal",
        failed=True,
        content=json.dumps({"output": "", "exit_code": -1, "error": "no", "status": "blocked"}),
    )
    rows = fed(
        TurnStarted(turn=1),
        ToolStarted(call=ONE, emoji=""),
        Asked(id="q", question=question),
        Answered(id="q", answer=Deny(), by="person"),
        ToolFinished(call_id="1", seconds=1, failed=True),
        Added(message=result),
    )
    assert [" ".join(row.split()) for row in rows] == [
        "✗ denied by you: rm -rf x",
        "💻 run make 1.0s ✗ denied",
    ]


def test_how_a_turn_ended_is_said_in_words() -> None:
    assert fed(TurnStarted(turn=1), ended("interrupted")) == ["✗ stopped · 2.0s"]
    assert fed(TurnStarted(turn=1), ended("budget")) == ["✗ the limit of model calls was reached · 2.0s"]
    failure = Failure(reason="connection", message="refused", address="http://h")
    assert fed(TurnStarted(turn=1), ended("failed", failure)) == [
        "✗ no connection: refused", "  http://h", "  Check that the server runs and the address is right; /retry sends it again,",
        "  /model takes another model.",
    ]  # fmt: skip


def test_words_of_the_harness_are_not_shown_as_a_reply() -> None:
    remark = Added(message=Assistant(id="a", at=0, text="(No reply: refused)"))
    assert fed(TurnStarted(turn=1), remark, ended("interrupted")) == ["✗ stopped · 2.0s"]


def test_notices_come_between() -> None:
    assert fed(Notice(level="info", text="fetching"), Notice(level="warning", text="slow")) == [
        "fetching",
        "warning: slow",
    ]


def test_progress_of_making_a_model_ready_shows_in_the_working_line() -> None:
    transcript = Transcript(width=80, config_fix="")
    rows = fed(TurnStarted(turn=1), Notice(level="info", text="Fetching small: 30 %"), transcript=transcript)
    assert (rows, working(transcript, 2.0)) == ([], "⠋ Fetching small: 30 % · 2s · Esc stops")
    assert fed(StepStarted(step=1, model="m"), Notice(level="info", text="other"), transcript=transcript) == [
        "other"
    ]


def test_the_last_call_or_all_can_be_shown_whole() -> None:
    transcript = Transcript(width=80, config_fix="")
    output = "\n".join(map(str, range(9)))
    fed(
        TurnStarted(turn=1),
        replied("", ONE, TWO),
        returned(ONE, output=output, exit_code=0),
        returned(TWO, error="no"),
        ended(),
        transcript=transcript,
    )
    assert len(transcript.whole(every=False)) == 2
    assert len(transcript.whole(every=True)) == 12


def test_calls_that_wait_for_others_are_shown_in_their_order() -> None:
    transcript = Transcript(width=60, config_fix="")
    fed(TurnStarted(turn=1), replied("", ONE, TWO), ToolStarted(call=TWO, emoji="📖"), transcript=transcript)
    moving = [plain(row).split() for row in transcript.moving(0.0, Theme(), 0)]
    assert moving == [["💻", "run", "make", "waits"], ["📖", "read", "a.py", "0.0s", "⠋"]]
    fed(returned(ONE, output="", exit_code=0), transcript=transcript)
    assert [plain(row).split()[:3] for row in transcript.moving(0.0, Theme(), 0) if row] == [
        ["📖", "read", "a.py"]
    ]


def test_a_narrow_working_line_keeps_the_way_to_stop() -> None:
    transcript = Transcript(width=40, config_fix="")
    long = ToolCall(
        id="9", name="terminal", arguments={"command": "a-program-with-a-very-long-name-indeed now"}
    )
    fed(TurnStarted(turn=1), replied("", long), ToolStarted(call=long, emoji="💻"), transcript=transcript)
    assert working(transcript, 3.0) == "⠋ running a-program-wi… · 3s · Esc stops"


def test_reasoning_shows_as_it_streams_where_that_is_wished() -> None:
    transcript = Transcript(width=40, config_fix="", show_thinking=True)
    fed(TurnStarted(turn=1), ThinkingDelta(text="first\nsecond"), transcript=transcript)
    assert [plain(row) for row in transcript.moving(2.0, Theme(), 0)] == [
        "✻ thinking · 2s",
        "  first",
        "  second",
    ]
    assert fed(TextDelta(text="x"), transcript=transcript) == ["  first", "  second"]


def test_a_fault_that_is_not_the_providers_is_told_whole_and_alone() -> None:
    sentence = "Session 20260101_000000_abcdef is being used by another process; nothing was written. Close it there, or start a new one."
    failure = Failure(reason="unknown", message=sentence)
    rows = fed(TurnStarted(turn=1), ended("failed", failure))
    assert " ".join(row.strip() for row in rows) == f"✗ {sentence}"
    assert all(len(row) <= 80 for row in rows)


def test_the_clock_of_a_call_leaves_out_the_time_of_its_question() -> None:
    transcript, question = (
        Transcript(width=80, config_fix=""),
        Approve(command="make", cwd="/w", reasons=(), rule="r"),
    )
    fed(TurnStarted(turn=1), replied("", ONE), ToolStarted(call=ONE, emoji=""), transcript=transcript)
    fed(Asked(id="q", question=question), at=1.0, transcript=transcript)
    fed(Answered(id="q", answer=Grant(), by="person"), at=61.0, transcript=transcript)
    (row,) = transcript.moving(63.0, Theme(), 0)[-1:]
    assert " 3.0s " in plain(row)


def test_an_answer_stands_below_the_line_of_its_question() -> None:
    ask = ToolCall(id="c", name="clarify", arguments={"question": "Which colour?"})
    rows = fed(
        TurnStarted(turn=1),
        replied("", ask),
        ToolStarted(call=ask, emoji=""),
        Asked(id="q", question=Clarify(text="Which colour?", options=("red", "green"))),
        Answered(id="q", answer=Reply(text="green"), by="person"),
        ToolFinished(call_id="c", seconds=0.1, failed=False),
        returned(ask, question="Which colour?", user_response="green"),
    )
    assert ["Which colour?" in rows[0], *rows[1:]] == [True, "❓ green"]


def test_what_a_question_holds_up_waits_for_the_person() -> None:
    transcript = Transcript(width=80, config_fix="")
    question = Approve(command="make", cwd="/w", reasons=(), rule="r")
    fed(TurnStarted(turn=1), replied("", ONE, TWO), ToolStarted(call=ONE, emoji=""), transcript=transcript)
    fed(Asked(id="q", question=question), transcript=transcript)
    rows = [plain(row).split() for row in transcript.moving(3.0, Theme(), 0)]
    assert [(row[1], row[-3:]) for row in rows] == [
        ("run", ["waits", "for", "you"]),
        ("read", ["waits", "for", "you"]),
    ]


def test_a_call_that_is_cut_off_at_its_question_has_not_taken_the_time_of_it() -> None:
    transcript = Transcript(width=80, config_fix="")
    question = Approve(command="make", cwd="/w", reasons=(), rule="r")
    fed(TurnStarted(turn=1), replied("", ONE), ToolStarted(call=ONE, emoji=""), transcript=transcript)
    fed(Asked(id="q", question=question), at=1.0, transcript=transcript)
    rows = fed(returned(ONE, output="", exit_code=-1, error="stopped"), at=61.0, transcript=transcript)
    assert " 1.0s " in rows[0]
