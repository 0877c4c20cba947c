"""A reply that says the same on and on is stopped, marked, and not paid for to its limit."""

from pathlib import Path

import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing.script import ScriptedModel, Turn, say
from hermes.types.event import Notice, TextDelta, TurnFinished
from hermes.types.message import Assistant
from hermes.types.usage import Stop

pytestmark = pytest.mark.anyio
AGAIN = "I will try again. "


async def turn_of(
    environ: dict[str, str], *replies: Turn | str, limit: int = 3000
) -> tuple[TurnFinished, str, list[str], list[Stop]]:
    """The end of a turn, what it showed, what the user was warned of, and how its replies ended."""
    home, model = Path(environ["HERMES_HOME"]), ScriptedModel(*replies)
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"model: {{repetition_limit: {limit}}}")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        options = SessionOptions(toolsets=(), cwd=home, base_url="http://127.0.0.1:1/v1", model="m")
        session = await runtime.session(options)
        async with session.stream("hi") as stream:
            events = [event async for event in stream]
        stops = [message.stop for message in session.log if isinstance(message, Assistant)]
        await session.close()
    (end,) = (event for event in events if isinstance(event, TurnFinished))
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    return end, shown, [event.text for event in events if isinstance(event, Notice)], stops


async def test_an_answer_that_repeats_itself_is_stopped_and_marked(environ: dict[str, str]) -> None:
    end, shown, told, stops = await turn_of(environ, say("It is blue. " + AGAIN * 2000))
    assert (end.outcome, end.text, stops) == ("cut", shown, ["repetition"])
    assert len(shown) < 3500
    (warned,) = told
    assert warned == (
        "The answer was stopped because it repeated itself on and on. Ask in other words, or raise"
        " model.repetition_limit if that is what you wanted."
    )


async def test_reasoning_that_repeats_itself_is_no_answer_and_asked_for_once_more(
    environ: dict[str, str],
) -> None:
    end, shown, told, stops = await turn_of(environ, say("", thinking=AGAIN * 2000), "It is blue.")
    assert (end.outcome, shown, told, stops) == ("done", "It is blue.", [], ["end"])


async def test_what_was_asked_for_may_repeat_itself_where_the_limit_is_off(environ: dict[str, str]) -> None:
    end, shown, told, stops = await turn_of(environ, say(AGAIN * 500), limit=0)
    assert (end.outcome, shown, told, stops) == ("done", AGAIN * 500, [], ["end"])
