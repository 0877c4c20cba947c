"""What a server of the chat wire may do wrong, and who can help: the same again, another key, another model, or nobody."""

import gzip
import json
from dataclasses import dataclass
from typing import Any, Literal

from msgspec.structs import replace

from hermes.testing import Turn, fail, raw
from tests.chaos.streams import CHAT, TOLD, WORD, chat, wanted

Helps = Literal["again", "key", "model", "nobody"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """An answer that is none; `reason` is what it must be taken for."""

    name: str
    turn: Turn
    reason: str
    helps: Helps


BEGUN = b'data: {"choices":[{"delta":{"content":"Let me"}}]}\n\n'
ALIVE = b": keep-alive\n\n"
PAGE = b"<!DOCTYPE html><html><body><h1>Welcome to the guest network</h1></body></html>"


def refused(status: int, message: str, **headers: str) -> Turn:
    return fail(status, message, headers={name.replace("_", "-"): value for name, value in headers.items()})


def body(tree: dict[str, Any]) -> Turn:
    """A good status, and a body that is an error."""
    return raw(json.dumps(tree).encode(), content_type="application/json")


def dripping(*pieces: bytes, pause: float) -> Turn:
    return raw(*pieces, pause=pause)


def zipped(data: bytes) -> Turn:
    return Turn(pieces=(data,), headers={"content-type": "text/event-stream", "content-encoding": "gzip"})


FAULTS = (
    Fault(name="429 with a time", turn=refused(429, "slow down", retry_after="0.1"), reason="rate_limit", helps="again"),
    Fault(name="429 without a time", turn=refused(429, "slow down"), reason="rate_limit", helps="again"),
    Fault(name="429 for an hour", turn=refused(429, "slow down", retry_after="3600"), reason="rate_limit", helps="key"),
    Fault(name="429 and no money", turn=refused(429, "insufficient_quota"), reason="billing", helps="key"),
    Fault(name="500", turn=refused(500, "oops"), reason="server_error", helps="again"),
    Fault(name="502", turn=refused(502, "bad gateway"), reason="server_error", helps="again"),
    Fault(name="503", turn=refused(503, "down"), reason="overloaded", helps="again"),
    Fault(name="504", turn=refused(504, "late"), reason="timeout", helps="again"),
    Fault(name="529", turn=refused(529, "Overloaded"), reason="overloaded", helps="again"),
    Fault(name="402 without money", turn=refused(402, "Insufficient credits"), reason="billing", helps="key"),
    Fault(name="402 that comes back", turn=refused(402, "Usage limit reached, try again in 200 ms"), reason="rate_limit", helps="again"),
    Fault(name="401", turn=refused(401, "Invalid API key"), reason="auth", helps="key"),
    Fault(name="403", turn=refused(403, "no"), reason="auth", helps="key"),
    Fault(name="404", turn=refused(404, "no such model"), reason="model_not_found", helps="model"),
    Fault(name="400", turn=refused(400, "messages[1] is odd"), reason="format_error", helps="model"),
    Fault(name="a data policy", turn=refused(404, "No endpoints found matching your data policy"), reason="provider_policy_blocked", helps="nobody"),
    Fault(name="a content policy", turn=refused(400, "flagged for violence"), reason="content_policy_blocked", helps="model"),
    Fault(name="an overflow", turn=refused(400, "maximum context length is 100 tokens"), reason="context_overflow", helps="model"),
    Fault(name="too many bytes", turn=refused(413, "Request Entity Too Large"), reason="payload_too_large", helps="model"),
    Fault(name="nothing at all", turn=dripping(b"", pause=30.0), reason="timeout", helps="again"),
    Fault(name="keep-alives only", turn=dripping(*[ALIVE] * 99, pause=0.1), reason="timeout", helps="again"),
    Fault(name="a stall after a word", turn=dripping(BEGUN, ALIVE, *[ALIVE] * 99, pause=0.1), reason="timeout", helps="again"),
    Fault(name="a token a minute", turn=dripping(*[BEGUN] * 9, pause=60.0), reason="timeout", helps="again"),
    Fault(name="a cut after a word", turn=raw(BEGUN), reason="cut_short", helps="again"),
    Fault(name="a cut after the call", turn=raw(CHAT.call[: CHAT.call.index(b'{"choices": [{"index": 0, "delta": {}')]), reason="cut_short", helps="again"),
    Fault(name="200 with an error", turn=body({"error": {"message": "Internal error", "code": 500}}), reason="server_error", helps="again"),
    Fault(name="200 without money", turn=body({"error": {"message": "Insufficient credits", "code": 402}}), reason="billing", helps="key"),
    Fault(name="200 with a status of MiniMax", turn=body({"id": "x", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}), reason="billing", helps="key"),
    Fault(name="an error after a word", turn=raw(BEGUN, b'data: {"error": {"message": "Overloaded"}}\n\n'), reason="overloaded", helps="again"),
    Fault(name="malformed JSON", turn=raw(BEGUN, b'data: {"choices": [{"delta": {"con\n\n'), reason="bad_reply", helps="again"),
    Fault(name="an empty body", turn=raw(b""), reason="bad_reply", helps="again"),
    Fault(name="an empty object", turn=body({}), reason="bad_reply", helps="again"),
    Fault(name="a page", turn=raw(PAGE, content_type="text/html"), reason="bad_reply", helps="again"),
    Fault(name="a page and 502", turn=Turn(pieces=(PAGE,), status=502, headers={"content-type": "text/html"}), reason="server_error", helps="again"),
    Fault(name="broken gzip", turn=zipped(b"\x1f\x8b\x08\x00broken"), reason="bad_reply", helps="again"),
    Fault(name="half of gzip", turn=zipped(gzip.compress(CHAT.call)[:-30]), reason="cut_short", helps="again"),
    Fault(name="a redirect", turn=Turn(pieces=(b"",), status=302, headers={"location": "https://elsewhere/v1"}), reason="format_error", helps="model"),
)  # fmt: skip

Odd = tuple[str, Turn, int]
CALL = chat({"content": TOLD}, wanted(), finish="tool_calls")
ODD: tuple[Odd, ...] = (
    ("a wrong finish reason", CHAT.turn(chat({"content": TOLD}, wanted(), finish="stop")), 2),
    ("no finish reason but an end", CHAT.turn(CALL.replace(b'"tool_calls"}]', b"null}]")), 2),
    ("the name twice", CHAT.turn(chat(wanted(arguments=""), wanted(), finish="tool_calls")), 2),
    (
        "the name in every piece",
        CHAT.turn(chat(wanted(arguments='{"word": '), wanted(arguments=f'"{WORD}"}}'), finish="tool_calls")),
        2,
    ),
    ("an empty reply first", CHAT.turn(chat({"content": ""})), 3),
    ("an unknown tool first", CHAT.turn(chat(wanted(name="paint"), finish="tool_calls")), 3),
    ("an unknown tool without a name", CHAT.turn(chat(wanted(name=""), finish="tool_calls")), 3),
    ("the arguments twice", CHAT.turn(chat(wanted(), wanted(), finish="tool_calls")), 3),
    ("arguments that are no JSON", CHAT.turn(chat(wanted(arguments="blue"), finish="tool_calls")), 3),
    ("arguments cut by the limit", CHAT.turn(chat(wanted(arguments='{"word": "bl'), finish="length")), 3),
    ("whole arguments, cut by the limit", CHAT.turn(chat(wanted(), finish="length")), 3),
)
"""Replies that are odd, not broken: name, reply, and how many requests the turn then takes."""


def with_body(turn: Turn, data: bytes) -> Turn:
    return replace(turn, pieces=(data,))
