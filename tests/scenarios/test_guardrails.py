"""Calls in a circle: the model is told, and stopped only where that is set; polling and mending are no circles."""

import json
from pathlib import Path

import pytest

import hermes
from hermes.agent.session import Session
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.event import Notice
from hermes.types.message import ToolResult
from hermes.types.tool import ToolManifest

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio

PURE = ToolManifest(effects=(), parallel="safe")


@hermes.tool(manifest=PURE)
def look(at: str = "") -> str:
    """What is there."""
    return f"nothing at {at}"


@hermes.tool(manifest=ToolManifest(effects=("other",)))
def change() -> str:
    """Change something."""
    return "changed"


@hermes.tool(manifest=ToolManifest(effects=("other",)))
def broken(at: str = "") -> str:
    """Fail."""
    raise ValueError(f"no such place: {at}")


def words(session: Session) -> list[str]:
    """What rides on the results, in order; empty where nothing does."""
    return [one.note for one in session.log if isinstance(one, ToolResult)]


def settings(environ: dict[str, str], text: str) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"tool_loop_guardrails:\n{text}")


async def run(talk: Talk, *turns: object) -> list[str]:
    model = ScriptedModel(*turns, say("done"))  # type: ignore[arg-type]
    async with talk(model, functions=(look, change, broken)) as session:
        await session.send("go")
        return words(session)


async def test_the_same_call_failing_is_told_from_the_second_time(talk: Talk) -> None:
    told = await run(talk, *[call("broken", {"at": "x"}, call_id=str(one)) for one in range(3)])
    assert ["failed 2 times" in told[1], "failed 3 times" in told[2], told[0]] == [True, True, ""]
    assert told[1].startswith("(This very call")


async def test_one_tool_failing_in_other_forms_is_told_from_the_third_time(talk: Talk) -> None:
    told = await run(talk, *[call("broken", {"at": str(one)}, call_id=str(one)) for one in range(4)])
    assert told[:2] == ["", ""]
    assert told[2].startswith("(broken has failed 3 times in this turn.")


async def test_reading_the_same_again_is_told_and_reading_after_a_change_is_not(talk: Talk) -> None:
    told = await run(
        talk,
        call("look", {"at": "x"}, call_id="1"),
        call("look", '{ "at":"x" }', call_id="2"),
        call("change", {}, call_id="3"),
        call("look", {"at": "x"}, call_id="4"),
    )
    assert [bool(one) for one in told] == [False, True, False, False]
    assert "same result 2 times" in told[1]


async def test_a_command_that_fails_is_a_failure_and_a_change_in_between_begins_anew(talk: Talk) -> None:
    failing = [call("terminal", {"command": "false"}, call_id=f"f{one}") for one in range(3)]
    model = ScriptedModel(
        failing[0], failing[1], call("terminal", {"command": "true"}, call_id="ok"), failing[2], say("done")
    )
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("go")
        assert [bool(one) for one in words(session)] == [False, True, False, True]
        assert words(session)[3].startswith("(terminal has failed 3 times")


async def test_a_process_that_is_polled_is_no_circle(talk: Talk) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "sleep 60", "background": True}),
        *[call("process", {"action": "list"}, call_id=f"p{one}") for one in range(6)],
        call("process", {"action": "kill", "session_id": "none"}, call_id="last"),
        say("done"),
    )
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("go")
        assert words(session)[1:7] == [""] * 6


async def test_nothing_is_stopped_unless_that_is_set(talk: Talk) -> None:
    told = await run(talk, *[call("broken", {"at": "x"}, call_id=str(one)) for one in range(10)])
    assert len(told) == 10


async def test_where_it_is_set_the_call_is_answered_without_being_run_and_the_tool_ends_the_turn(
    talk: Talk, environ: dict[str, str]
) -> None:
    settings(environ, "  hard_stop_enabled: true\n")
    model = ScriptedModel(
        *[call("broken", {"at": "x"}, call_id=str(one)) for one in range(7)],
        *[call("broken", {"at": one}, call_id=one) for one in "abc"],
        say("it fails"),
    )
    async with talk(model, functions=(broken,)) as session:
        heard = await events_of(session, "go")
        results = [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]
        assert [one.get("status", "") for one in results] == [""] * 5 + ["not_run"] * 2 + [""] * 3
        assert session.log[-1].kind == "assistant"
        assert any(isinstance(one, Notice) and "broken failed on and on" in one.text for one in heard)


@pytest.mark.parametrize(
    ("name", "why"),
    [("look", "it has given the same result, 5 times"), ("broken", "it has failed in exactly")],
)
async def test_a_blocked_call_is_no_failure_of_the_call_or_of_its_tool(
    talk: Talk, environ: dict[str, str], name: str, why: str
) -> None:
    settings(environ, "  hard_stop_enabled: true\n")
    model = ScriptedModel(*[call(name, {"at": "x"}, call_id=str(one)) for one in range(15)], say("done"))
    async with talk(model, functions=(look, broken)) as session:
        heard = await events_of(session, "go")
        results = [one for one in session.log if isinstance(one, ToolResult)][5:]
        assert len({one.content for one in results}) == 1
        assert why in results[0].content
        assert [one.note for one in results] == [""] * 10
        assert not [one for one in heard if isinstance(one, Notice)]


async def test_the_thresholds_are_settings(talk: Talk, environ: dict[str, str]) -> None:
    settings(environ, "  warn_after:\n    exact_failure: 4\n    same_tool_failure: 9\n")
    told = await run(talk, *[call("broken", {"at": "x"}, call_id=str(one)) for one in range(4)])
    assert [bool(one) for one in told] == [False, False, False, True]


async def test_every_turn_begins_anew(talk: Talk) -> None:
    model = ScriptedModel(
        call("broken", {"at": "x"}, call_id="1"),
        say("one"),
        call("broken", {"at": "x"}, call_id="2"),
        say("two"),
    )
    async with talk(model, functions=(broken,)) as session:
        await session.send("go")
        await session.send("go")
        assert words(session) == ["", ""]


async def test_calls_side_by_side_are_counted_in_their_order(talk: Talk) -> None:
    told = await run(talk, calls(("broken", {"at": "x"}), ("broken", {"at": "x"}), ids=("a", "b")))
    assert [bool(one) for one in told] == [False, True]
