"""Conversations that the wires of Claude are tried with, and checkers of what every provider demands of them."""

import base64
from collections.abc import Iterator
from typing import Any

from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    ContextBlock,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)
from hermes.types.profile import Profile

CLAUDE = Profile(family="claude", thinking="budget", tool_images=True, documents=True, cache_marks=True)
PNG = base64.b64encode(b"\x89PNG not really").decode()
PDF = base64.b64encode(b"%PDF-1.4 not really").decode()
NOTES = base64.b64encode(b"buy milk").decode()
TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "run", "description": "Run.", "parameters": {"type": "object", "properties": {}}, "strict": True}},
)  # fmt: skip


def user(number: int, text: str, **fields: Any) -> User:
    return User(id=f"u{number}", at=0.0, text=text, **fields)


def reply(number: int, text: str = "", **fields: Any) -> Assistant:
    origin = {"provider": "p", "model": "m", "protocol": "anthropic_messages", "family": "claude", **fields}
    return Assistant(id=f"a{number}", at=0.0, text=text, **origin)


def call(call_id: str, name: str = "look", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def result(number: int, call_id: str, content: str, **fields: Any) -> ToolResult:
    return ToolResult(id=f"r{number}", at=0.0, call_id=call_id, name="look", content=content, **fields)


def image(name: str = "") -> Attachment:
    return Attachment(media_type="image/png", data=PNG, name=name)


CONVERSATIONS: dict[str, tuple[Message, ...]] = {
    "words": (user(1, "Hi"), reply(1, "Hello, ü 🎉"), user(2, "Go on", blocks=(ContextBlock(kind="hook", text="<memory>tea</memory>"),))),
    "tools in parallel, one of which failed, with a steering note": (
        user(1, "Look twice"),
        reply(1, "I will.", thinking=(Thinking(text="Hm.", signature="sig="), Thinking(text="", signature="xyzz", redacted=True)), calls=(call("c1", at="a"), call("c2", "run"))),
        result(1, "c1", "seen", blocks=(ContextBlock(kind="other", text="hurry"),)),
        result(2, "c2", "no such thing", failed=True),
    ),
    "pictures and documents": (
        user(1, "What is this?", attachments=(image("a.png"), Attachment(media_type="application/pdf", data=PDF, name="My report (final).pdf"), Attachment(media_type="text/plain", data=NOTES))),
        reply(1, calls=(call("c1", at="b"),)),
        result(1, "c1", "", images=(image(),)),
    ),
    "an interrupted reply that says nothing": (
        user(1, "Look"),
        reply(1, calls=(call("c1"),)),
        result(1, "c1", ""),
        reply(2, "", thinking=(Thinking(text="half a thought"),)),
        user(2, "  "),
    ),
    "a compaction, and ids and names of other wires": (
        Compaction(id="k1", at=0.0, summary="Before, there was talk.", first_kept="a1"),
        reply(1, protocol="chat_completions", thinking=(Thinking(text="plain"),), calls=(call("functions.look:0"), call("ok", "look at"))),
        result(1, "functions.look:0", "1"),
        result(2, "ok", "2"),
        reply(2, "\n\n", calls=(call("ok"),)),
        result(3, "ok", "3"),
    ),
    "a beginning without a user": (reply(1, "I was here first."), user(1, "Indeed")),
}  # fmt: skip

THOUGHTS = {("other", kind) for kind in ("thinking", "redacted_thinking", "reasoningContent")}


def faults(body: dict[str, Any], kind: str) -> Iterator[str]:
    """What a strict server would say against a request; `kind` is the wire: anthropic or bedrock."""
    turns = [
        (message["role"], [_plain(block, kind) for block in message["content"]])
        for message in body["messages"]
    ]
    waiting: list[str] = []
    seen: set[str] = set()
    for number, (role, blocks) in enumerate(turns):
        if role != ("user" if number % 2 == 0 else "assistant"):
            yield f"message {number} is of role {role}"
        if not blocks:
            yield f"message {number} is empty"
        answered = [value for name, value in blocks if name == "result"]
        if answered != waiting:
            yield f"message {number} answers {answered}, not {waiting}"
        if [name for name, _ in blocks[: len(answered)]] != ["result"] * len(answered):
            yield f"message {number} has something before its results"
        if role == "assistant" and blocks[-1] in THOUGHTS:
            yield f"message {number} ends in reasoning"
        waiting = [value for name, value in blocks if name == "call"]
        if (role == "user" and waiting) or (role == "assistant" and answered):
            yield f"message {number} of role {role} calls or answers"
        if seen & set(waiting) or len(set(waiting)) != len(waiting):
            yield f"message {number} uses an id again"
        seen |= set(waiting)
        yield from (f"message {number}: {value}" for name, value in blocks if name == "fault")
    if turns and turns[-1][0] == "assistant":
        yield "it ends with the assistant"


def _plain(block: dict[str, Any], kind: str) -> tuple[str, str]:
    return _anthropic(block) if kind == "anthropic" else _bedrock(block)


def _legal(call_id: str, name: str, arguments: Any) -> tuple[str, str]:
    letters = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    for word in (call_id, name):
        if not word or len(word) > 64 or not set(word) <= letters:
            return "fault", f"illegal {word!r}"
    return ("call", call_id) if isinstance(arguments, dict) else ("fault", "arguments are no object")


def _anthropic(block: dict[str, Any]) -> tuple[str, str]:
    match block["type"]:
        case "text":
            return ("text", block["text"]) if block["text"].strip() else ("fault", "blank text")
        case "tool_use":
            return _legal(block["id"], block["name"], block["input"])
        case "tool_result":
            inner = [_anthropic(part) for part in block["content"]]
            return next((part for part in inner if part[0] == "fault"), ("result", block["tool_use_id"]))
        case kind:
            return "other", str(kind)


def _bedrock(block: dict[str, Any]) -> tuple[str, str]:
    (kind,) = block
    match kind:
        case "text":
            return ("text", block["text"]) if block["text"].strip() else ("fault", "blank text")
        case "toolUse":
            use = block["toolUse"]
            return _legal(use["toolUseId"], use["name"], use["input"])
        case "toolResult":
            inner = [_bedrock(part) for part in block["toolResult"]["content"]]
            return next(
                (part for part in inner if part[0] == "fault"), ("result", block["toolResult"]["toolUseId"])
            )
        case _:
            return "other", kind
