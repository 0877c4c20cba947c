"""What a good model says on each wire: a word and one call, then, once the call is answered, the answer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes.testing import Turn
from tests.wire.frames import event

TOLD, WORD, ANSWER = "Let me note it.", "blue", "Noted: the sky is blue."
JSON = json.dumps({"word": WORD})


@dataclass(frozen=True)
class Wire:
    """A wire's name, its two good replies as bytes, and the media type they come in."""

    name: str
    call: bytes
    answer: bytes
    media_type: str = "text/event-stream"

    def turn(self, data: bytes) -> Turn:
        return Turn(pieces=(data,), headers={"content-type": self.media_type})

    def good(self, body: bytes) -> Turn:
        """The reply to a request: the call until its result is there."""
        return self.turn(self.answer if b"noted blue" in body else self.call)


def data(*trees: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(tree).encode() + b"\n\n" for tree in trees)


def chat(*deltas: dict[str, Any], finish: str = "stop") -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    last = {
        "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5},
    }
    return data(*chunks, last) + b"data: [DONE]\n\n"


def wanted(name: str = "note", arguments: str = JSON, **fields: Any) -> dict[str, Any]:
    return {
        "tool_calls": [
            {
                "index": 0,
                "id": "call_1",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
                **fields,
            }
        ]
    }


CHAT = Wire(
    "chat_completions",
    chat({"content": TOLD[:7]}, {"content": TOLD[7:]}, wanted(), finish="tool_calls"),
    chat({"content": ANSWER}),
)


def messages(*blocks: Sequence[dict[str, Any]], stop: str) -> bytes:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"id": "msg_1", "usage": {"input_tokens": 9, "output_tokens": 1}},
        }
    ]
    for index, (start, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return data(*events)


def text_block(text: str) -> tuple[dict[str, Any], ...]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}


ANTHROPIC = Wire(
    "anthropic_messages",
    messages(
        text_block(TOLD),
        (
            {"type": "tool_use", "id": "toolu_1", "name": "note", "input": {}},
            {"type": "input_json_delta", "partial_json": JSON},
        ),
        stop="tool_use",
    ),
    messages(text_block(ANSWER), stop="end_turn"),
)


def responses(*items: dict[str, Any]) -> bytes:
    events: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        events.append(
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "content": [], "arguments": ""},
            }
        )
        if item["type"] == "message":
            events.append(
                {
                    "type": "response.output_text.delta",
                    "output_index": index,
                    "content_index": 0,
                    "delta": item["content"][0]["text"],
                }
            )
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {"input_tokens": 9, "output_tokens": 5}
    return data(
        *events,
        {
            "type": "response.completed",
            "response": {"id": "resp_1", "status": "completed", "output": [], "usage": usage},
        },
    )


def message(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


RESPONSES = Wire(
    "codex_responses",
    responses(
        message(TOLD),
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "note", "arguments": JSON},
    ),
    responses(message(ANSWER)),
)


def converse(*blocks: bytes, stop: str) -> bytes:
    end = event("messageStop", {"stopReason": stop}) + event(
        "metadata", {"usage": {"inputTokens": 9, "outputTokens": 5}}
    )
    return event("messageStart", {"role": "assistant"}) + b"".join(blocks) + end


def piece(index: int, **delta: Any) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})


BEDROCK = Wire(
    "bedrock_converse",
    converse(
        piece(0, text=TOLD),
        event("contentBlockStop", {"contentBlockIndex": 0}),
        event(
            "contentBlockStart",
            {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "note"}}},
        ),
        piece(1, toolUse={"input": JSON}),
        event("contentBlockStop", {"contentBlockIndex": 1}),
        stop="tool_use",
    ),
    converse(piece(0, text=ANSWER), stop="end_turn"),
    "application/vnd.amazon.eventstream",
)
WIRES = (CHAT, ANTHROPIC, RESPONSES, BEDROCK)
