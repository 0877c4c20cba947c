"""On every wire: an error inside a good answer, and what is no answer, are classified, got over alone, and left behind."""

import pytest

from hermes.testing import Turn, network
from tests.chaos.faults import PAGE
from tests.chaos.harness import ANSWERED, Faulty, Place
from tests.chaos.streams import ANTHROPIC, BEDROCK, CHAT, RESPONSES, WIRES, Wire, data
from tests.wire.frames import event, fault

pytestmark = pytest.mark.anyio

ERRORS = {
    CHAT: data(
        {"choices": [{"delta": {"content": "Let"}}]}, {"error": {"message": "Overloaded", "code": 503}}
    ),
    ANTHROPIC: ANTHROPIC.call[: ANTHROPIC.call.index(b'data: {"type": "content_block_stop"')]
    + data({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    RESPONSES: data(
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Let"},
        {
            "type": "response.failed",
            "response": {
                "status": "failed",
                "error": {"code": "server_is_overloaded", "message": "Overloaded"},
            },
        },
    ),
    BEDROCK: event("messageStart", {"role": "assistant"})
    + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Let"}})
    + fault("serviceUnavailableException", "Overloaded"),
}
"""A word, then the wire's own way to say that the model has too much to do."""
NO_ANSWERS = {
    "a page": PAGE,
    "nothing": b"",
    "an empty object": b"{}",
    "a list": b"[1]",
    "zeros": bytes(64),
    "half a word": b"dat",
}


async def tried(environ: dict[str, str], wire: Wire, body: bytes, media_type: str) -> tuple[str, ...]:
    """Got over alone, a failure alone, left behind: what the failure was taken for."""
    broken = Turn(pieces=(body,), headers={"content-type": media_type})
    once = Faulty(broken, wire=wire)
    trial = await Place(environ, http=network({"one": once}), wire=wire).turn()
    trial.hold(once)
    assert (trial.outcome, once.count) == (ANSWERED, 3)
    always, two = Faulty(broken, always=True, wire=wire), Faulty()
    trial = await Place(environ, http=network({"one": always, "two": two}), wire=wire, fallback=True).turn()
    trial.hold(always, two)
    assert (trial.outcome, always.count) == (ANSWERED, 3)
    alone = Faulty(broken, always=True, wire=wire)
    trial = await Place(environ, http=network({"one": alone}), wire=wire).turn()
    trial.hold(alone)
    assert (trial.end.outcome, trial.ran, alone.count) == ("failed", [], 3)
    return tuple({one.failure.reason for one in trial.attempts if one.failure})


@pytest.mark.parametrize("wire", ERRORS, ids=lambda wire: wire.name)
async def test_an_error_after_a_word_is_known_by_its_words(environ: dict[str, str], wire: Wire) -> None:
    assert await tried(environ, wire, ERRORS[wire], wire.media_type) == ("overloaded",)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize("body", NO_ANSWERS)
async def test_what_is_no_answer_is_tried_again_and_left_behind(
    environ: dict[str, str], wire: Wire, body: str
) -> None:
    (reason,) = await tried(environ, wire, NO_ANSWERS[body], "text/html")
    assert reason in {"bad_reply", "cut_short"}
