"""A reply that is cut, filtered, refused or empty is never passed off as a whole one (invariant 35)."""

from collections import deque
from pathlib import Path

import httpx2
import msgspec
import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.types.event import Notice, TurnFinished
from tests.scenarios.wires import FAMILIES, FORMS, Recorder, Said

pytestmark = pytest.mark.anyio

LENGTH = {"chat_completions": "length", "codex_responses": "max_output_tokens", "anthropic_messages": "max_tokens", "bedrock_converse": "max_tokens"}  # fmt: skip
FILTER = {"chat_completions": "content_filter", "codex_responses": "content_filter", "anthropic_messages": "refusal", "bedrock_converse": "content_filtered"}  # fmt: skip
CUT, DONE = Said(text="Half of an"), Said(text="All of it.")
ran: list[str] = []


@hermes.tool
def note(word: str) -> str:
    """Note a word.

    Args:
        word: the word.
    """
    ran.append(word)
    return "noted"


async def turn_of(
    environ: dict[str, str], wire: str, *replies: Said
) -> tuple[TurnFinished, list[str], Recorder]:
    """The end of a turn in which a model of this wire says these things, and what the user was warned of."""
    ran.clear()
    recorder = Recorder(wire, deque(replies))
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    own = {"base_url": "http://own/v1", "protocol": wire, "models": [FAMILIES[wire]]}
    (home / "config.yaml").write_bytes(msgspec.json.encode({"providers": {"own": own}}))
    http = httpx2.AsyncClient(transport=recorder)
    async with open_runtime(environ=environ, http=http) as runtime:
        session: Session = await runtime.session(
            SessionOptions(toolsets=(), functions=(note,), cwd=home, model=f"own/{FAMILIES[wire]}")
        )
        async with session.stream("hi") as stream:
            events = [event async for event in stream]
        await session.close()
    (end,) = (event for event in events if isinstance(event, TurnFinished))
    return end, [event.text for event in events if isinstance(event, Notice)], recorder


@pytest.mark.parametrize("wire", FORMS)
async def test_text_that_was_cut_by_its_length_is_marked(environ: dict[str, str], wire: str) -> None:
    pieces = (Said(text=f"Part {number}, ", end=LENGTH[wire]) for number in range(5))
    end, told, _ = await turn_of(environ, wire, *pieces)
    assert (end.outcome, end.text, end.failure) == ("cut", "Part 0, Part 1, Part 2, Part 3, Part 4, ", None)
    assert [sentence.partition(":")[0] for sentence in told] == ["The answer is not whole"]


@pytest.mark.parametrize("wire", FORMS)
async def test_text_that_a_filter_ended_is_marked(environ: dict[str, str], wire: str) -> None:
    end, told, _ = await turn_of(environ, wire, Said(text="Half of an", end=FILTER[wire]))
    assert (end.outcome, end.text) == ("cut", "Half of an")
    assert [sentence.partition(":")[0] for sentence in told] == ["The provider's filter ended the answer"]


@pytest.mark.parametrize("end", ["length", "filter", ""])
@pytest.mark.parametrize("thinking", ["", "let me see"])
@pytest.mark.parametrize("wire", FORMS)
async def test_a_reply_without_a_word_is_a_failure(
    environ: dict[str, str], wire: str, thinking: str, end: str
) -> None:
    empty = Said(
        thinking=thinking, end={"length": LENGTH, "filter": FILTER, "": dict.fromkeys(FORMS, "")}[end][wire]
    )
    finished, _, recorder = await turn_of(environ, wire, empty, empty)
    assert finished.failure is not None
    expected = {"length": ("empty_reply", 2), "filter": ("content_policy_blocked", 1), "": ("empty_reply", 2)}
    assert (finished.outcome, (finished.failure.reason, len(recorder.bodies))) == ("failed", expected[end])


@pytest.mark.parametrize("wire", FORMS)
async def test_an_empty_reply_is_asked_for_once_more(environ: dict[str, str], wire: str) -> None:
    end, told, recorder = await turn_of(environ, wire, Said(), DONE)
    assert (end.outcome, end.text, told, len(recorder.bodies)) == ("done", DONE.text, [], 2)
    assert recorder.bodies[0] == recorder.bodies[1]


@pytest.mark.parametrize("text", ["", "I will note it."])
@pytest.mark.parametrize("ends", [LENGTH, FILTER], ids=["length", "filter"])
@pytest.mark.parametrize("wire", FORMS)
async def test_calls_of_a_reply_that_was_cut_or_filtered_never_run(
    environ: dict[str, str], wire: str, ends: dict[str, str], text: str
) -> None:
    wanted = Said(text=text, calls=(("note", {"word": "blue"}),), end=ends[wire])
    end, _, recorder = await turn_of(environ, wire, wanted, DONE)
    assert (ran, end.outcome, end.text) == ([], "done", DONE.text)
    assert b"not run" in recorder.bodies[1]


@pytest.mark.parametrize("wire", FORMS)
async def test_a_turn_whose_calls_can_never_be_used_fails_with_a_sentence(
    environ: dict[str, str], wire: str
) -> None:
    wanted = Said(calls=(("note", {"word": "blue"}),), end=FILTER[wire])
    end, _, _ = await turn_of(environ, wire, wanted, wanted, wanted)
    assert end.failure is not None
    assert (ran, end.outcome, end.failure.reason) == ([], "failed", "bad_reply")
    assert end.failure.message.startswith(
        "The model wrote 3 replies in a row whose calls could not be used: "
    )
