"""One small vocabulary for scripted replies of all four wires, and a server that keeps every body it gets, byte for byte."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.wire.marks import unmarked

Called = tuple[str, Mapping[str, Any]]
"""A call: name and arguments."""

PRICED = {"input": 10.0, "output": 10.0}


@dataclass(slots=True)
class Said:
    """A reply of a model: reasoning, words and calls; `status` other than 200 makes it an error with these words.

    `end` is the wire's own word for how it ended, where that is not usual.
    """

    text: str = ""
    calls: tuple[Called, ...] = ()
    thinking: str = ""
    status: int = 200
    end: str = ""


Reply = Said | Callable[[], Awaitable[Said]]


@dataclass
class Recorder(httpx2.AsyncBaseTransport):
    """Answers each request with the next of `replies`, in the wire's own form, and keeps what was sent."""

    wire: str
    replies: deque[Reply] = field(default_factory=deque)
    bodies: list[bytes] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return httpx2.Response(404)
        self.bodies.append(await request.aread())
        self.addresses.append(str(request.url))
        self.keys.append(request.headers.get("authorization", "") + request.headers.get("x-api-key", ""))
        reply = self.replies.popleft()
        said = reply if isinstance(reply, Said) else await reply()
        if said.status != 200:
            return httpx2.Response(
                said.status, headers={"retry-after": "0"}, json={"error": {"message": said.text}}
            )
        return httpx2.Response(
            200,
            headers={"content-type": "application/json"},
            content=json.dumps(FORMS[self.wire](said, len(self.bodies))),
        )


def _ids(said: Said, number: int) -> list[tuple[str, str, Mapping[str, Any]]]:
    return [(f"call_{number}_{place}", name, arguments) for place, (name, arguments) in enumerate(said.calls)]


def _chat(said: Said, number: int) -> dict[str, Any]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in _ids(said, number)
    ]
    message = {
        "role": "assistant",
        "content": said.text or None,
        "reasoning_content": said.thinking,
        **({"tool_calls": calls} if calls else {}),
    }
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    return {
        "id": "x",
        "choices": [{"finish_reason": said.end or ("tool_calls" if calls else "stop"), "message": message}],
        "usage": usage,
    }


def _responses(said: Said, number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        output.append(
            {
                "type": "reasoning",
                "id": f"rs_{number}",
                "summary": summary,
                "encrypted_content": f"gAAA{number}",
            }
        )
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    output += [
        {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": json.dumps(arguments), "status": "completed"}
        for call_id, name, arguments in _ids(said, number)
    ]  # fmt: skip
    usage = {"input_tokens": 1000, "output_tokens": 10}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "incomplete" if said.end else "completed",
        **({"incomplete_details": {"reason": said.end}} if said.end else {}),
        "usage": usage,
        "output": output,
    }


def _anthropic(said: Said, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.thinking:
        content += [
            {"type": "thinking", "thinking": said.thinking, "signature": f"sig{number}=="},
            {"type": "redacted_thinking", "data": f"opaque{number}=="},
        ]
    content += [{"type": "text", "text": said.text}] if said.text else []
    content += [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in _ids(said, number)
    ]
    stop = said.end or ("tool_use" if said.calls else "end_turn")
    usage = {"input_tokens": 1000, "output_tokens": 10}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        "usage": usage,
    }


def _bedrock(said: Said, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.thinking:
        content.append(
            {"reasoningContent": {"reasoningText": {"text": said.thinking, "signature": f"sig{number}=="}}}
        )
    content += [{"text": said.text}] if said.text else []
    content += [
        {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}} for call_id, name, arguments in _ids(said, number)
    ]  # fmt: skip
    usage = {"inputTokens": 1000, "outputTokens": 10, "totalTokens": 1010}
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": said.end or ("tool_use" if said.calls else "end_turn"),
        "usage": usage,
    }


FORMS: Mapping[str, Callable[[Said, int], dict[str, Any]]] = {
    "chat_completions": _chat,
    "codex_responses": _responses,
    "anthropic_messages": _anthropic,
    "bedrock_converse": _bedrock,
}
FAMILIES = {"chat_completions": "claude-sonnet-4-5", "codex_responses": "gpt-5.1", "anthropic_messages": "claude-sonnet-4-5", "bedrock_converse": "claude-sonnet-4-5"}  # fmt: skip
"""A model of each wire that reasons; its reasoning goes back signed where the wire has that."""


def halves(wire: str, body: bytes) -> tuple[bytes, bytes]:
    """A body up to the end of its messages, as far as the next one must repeat it, and the rest of it: tools and parameters."""
    without = unmarked(body)
    if wire in {"chat_completions", "codex_responses"}:
        at = without.rindex(b'],"stream":true')
        return without[:at], without[at:]
    return without.removesuffix(b"]}]}"), b"]}]}"


def extends(wire: str, before: bytes, after: bytes) -> bool:
    """Whether a body is the one before it with more messages, byte for byte."""
    (head, tail), (longer, rest) = halves(wire, before), halves(wire, after)
    return longer.startswith(head) and tail == rest
