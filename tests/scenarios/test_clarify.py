"""The tool `clarify`: a person is asked, words come back, and the settings answer where nobody does."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.agent.questions import DECIDE, NOBODY_HERE, TOO_LATE
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, VirtualClock, call, calls, say
from hermes.tools.builtin.clarify import UNANSWERED
from hermes.types.event import Answered, Asked, ToolFinished, ToolStarted
from hermes.types.message import ToolResult
from hermes.types.question import Answer, Clarify, Deny, Reply

from .conftest import Talk

pytestmark = pytest.mark.anyio
WHICH = {"question": "Which colour?", "choices": ["red", " ", "green", "red"]}
OFFERED = {"question": "Which colour?", "choices_offered": ["red", "green"]}


def results(log: Any) -> list[dict[str, Any]]:
    return [json.loads(one.content) for one in log if isinstance(one, ToolResult)]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Reply(text="green"), {"user_response": "green"}),
        (Reply(text="something bluish"), {"user_response": "something bluish"}),
        (Deny(), {"user_response": "", "note": UNANSWERED}),
        (Deny(reason="ask me later"), {"user_response": "", "note": "ask me later"}),
    ],
)
async def test_what_a_person_says_is_the_result(talk: Talk, answer: Answer, said: dict[str, str]) -> None:
    model = ScriptedModel(call("clarify", WHICH), say("fine"))
    async with talk(model, toolsets=("clarify",)) as session, session.stream("paint") as events:
        async for event in events:
            if isinstance(event, Asked):
                assert event.question == Clarify(text="Which colour?", options=("red", "green"))
                assert session.answer(event.id, answer)
    assert results(session.log) == [{**OFFERED, **said}]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("decide", {"user_response": "", "note": DECIDE.format(NOBODY_HERE)}),
        (
            "first",
            {"user_response": "", "chosen": "red", "note": "Nobody answered; the settings chose."},
        ),
    ],
)
async def test_where_nobody_is_there_the_setting_answers_at_once(
    environ: dict[str, str], tmp_path: Path, policy: str, said: dict[str, str]
) -> None:
    model = ScriptedModel(call("clarify", WHICH), say("fine"))
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=("clarify",), cwd=tmp_path, attended=False
    )
    flags = {"agent.clarify_policy": policy}
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        session = await runtime.session(options)
        with session.watch() as events:
            end = await session.send("paint")
            await session.close()
            decided = [one.decided for one in [one async for one in events] if isinstance(one, Asked)]
    assert (end.outcome, decided) == ("done", ["policy"])
    assert results(session.log) == [{**OFFERED, **said}]


async def test_a_question_that_nobody_answers_in_time_is_decided_by_the_setting(
    environ: dict[str, str], tmp_path: Path
) -> None:
    clock, model = VirtualClock(), ScriptedModel(call("clarify", WHICH), say("fine"))
    options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=("clarify",), cwd=tmp_path)
    async with open_runtime(
        environ=environ,
        http=model.http(),
        ports=clock.ports(SYSTEM_PORTS),
        flags={"agent.clarify_timeout": 600},
    ) as runtime:
        session = await runtime.session(options)
        async with session.stream("paint") as events:
            async for event in events:
                if isinstance(event, Asked):
                    assert event.expires == clock.now() + 600
                    async with anyio.create_task_group() as group:
                        group.start_soon(_pass_time, clock, session)
                elif isinstance(event, Answered):
                    assert event.by == "time limit"
        await session.close()
    assert results(session.log) == [
        {**OFFERED, "user_response": "", "note": DECIDE.format(TOO_LATE.format(600))}
    ]


async def _pass_time(clock: VirtualClock, session: Any) -> None:
    while session.questions.open:
        clock.advance(100)
        await anyio.sleep(0.001)


async def test_a_question_runs_beside_no_other_call(talk: Talk) -> None:
    model = ScriptedModel(
        calls(("search_files", {"pattern": "x"}), ("clarify", WHICH), ("search_files", {"pattern": "y"})),
        say("fine"),
    )
    seen: list[str] = []
    async with talk(model, toolsets=("clarify", "file")) as session, session.stream("paint") as events:
        async for event in events:
            if isinstance(event, ToolStarted | ToolFinished):
                seen.append(event.kind)
            if isinstance(event, Asked):
                seen.append("asked")
                session.answer(event.id, Reply(text="red"))
    assert seen == [
        *("tool_started", "tool_finished"),
        *("tool_started", "asked", "tool_finished"),
        *("tool_started", "tool_finished"),
    ]
