"""A turn that was cut off goes on at its next undone step, without a new message."""

from pathlib import Path

import pytest

import hermes
from hermes.agent.recovery import UNKNOWN
from hermes.testing import ScriptedModel, call, say
from hermes.tools.registry import tool_error
from hermes.types.error import HermesError
from hermes.types.event import TurnFinished, TurnStarted
from tests.scenarios.conftest import Talk, kinds
from tests.scenarios.cut_turn import cut_turn

pytestmark = pytest.mark.anyio


@hermes.tool
def effect() -> str:
    """An effect."""
    return "did it"


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    return Path(environ["HERMES_HOME"])


async def test_a_cut_turn_goes_on_with_what_is_known_and_no_new_message(
    talk: Talk, home: Path, tmp_path: Path
) -> None:
    await cut_turn(home, tmp_path / "work", steps=2)
    model = ScriptedModel(call("effect", {}, call_id="c2"), say("all done"))
    async with talk(model, resume="s1", functions=(effect,)) as session:
        assert session.is_cut
        end = await session.continue_turn()
        assert (end.outcome, end.text, end.turn, session.is_cut) == ("done", "all done", 1, False)
        assert kinds(session.log) == ["user", *["assistant", "tool_result"] * 3, "assistant"]
    told = [one["content"] for one in model.requests[0]["messages"] if one["role"] == "tool"]
    assert told == ["did it", tool_error(UNKNOWN, status="outcome_unknown")]
    assert [one["content"] for one in model.requests[1]["messages"] if one["role"] == "user"] == ["do it"]


async def test_the_events_of_a_turn_that_goes_on_are_read_as_those_of_any_other(
    talk: Talk, home: Path, tmp_path: Path
) -> None:
    await cut_turn(home, tmp_path / "work")
    async with (
        talk(ScriptedModel("all done"), resume="s1") as session,
        session.stream_continued() as events,
    ):
        heard = [event async for event in events]
    assert [event.turn for event in heard if isinstance(event, TurnStarted | TurnFinished)] == [1, 1]
    assert {event.stamp.turn for event in heard} == {1}


async def test_the_steps_before_the_cut_count_against_the_limit(
    talk: Talk, home: Path, tmp_path: Path
) -> None:
    await cut_turn(home, tmp_path / "work", steps=3)
    model = ScriptedModel(call("effect", {}, call_id="c4"), say("that is all"))
    async with talk(model, resume="s1", functions=(effect,), max_steps=3) as session:
        end = await session.continue_turn()
    assert (end.outcome, end.text) == ("budget", "that is all")


async def test_only_a_turn_that_was_cut_off_goes_on(talk: Talk) -> None:
    async with talk(ScriptedModel("hello")) as session:
        for _ in range(2):
            assert not session.is_cut
            with pytest.raises(HermesError, match="was not cut off"):
                await session.continue_turn()
            with pytest.raises(HermesError, match="was not cut off"):
                session.stream_continued()
            if not session.log:
                await session.send("hi")


async def test_a_new_message_ends_a_cut_turn_in_words(talk: Talk, home: Path, tmp_path: Path) -> None:
    await cut_turn(home, tmp_path / "work")
    async with talk(ScriptedModel("fine"), resume="s1") as session:
        await session.send("leave that")
        said = [getattr(one, "text", "") for one in session.log[-3:]]
    assert said == ["(This turn was cut off before a reply.)", "leave that", "fine"]
