"""Invariant 3 on the two wires of OpenAI: every request from a log that could be written is one that a strict server takes."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.agent.compaction.view import visible
from hermes.agent.log import Log
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.models.transports.responses.transport import CodexResponses
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
from hermes.types.request import Endpoint, LeftOut, Options, Request

PNG = Attachment(media_type="image/png", data="AA==")
TEXTS = st.sampled_from(["", "x", "ü\ud800", '"},{', "\n"])
RAWS = st.sampled_from(['{"a": 1}', "{broken", "", '{"a": 1,}', "[1]", "null"])
ORIGINS = st.sampled_from(
    [("chat_completions", "gpt"), ("codex_responses", "gpt"), ("anthropic_messages", "claude"), ("", "")]
)
TOOLS = ({"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}},)
PROFILES = (
    Profile(family="gpt", thinking="effort", efforts=("low",), call_ids=r"[\s\S]{1,40}"),
    Profile(family="gpt", cache_marks=True, tool_images=True, replays_reasoning=True, documents=True),
    Profile(family="mistral", vision=False, call_ids="[A-Za-z0-9]{9}", system_role="user"),
)
WITHOUT: tuple[frozenset[LeftOut], ...] = (
    frozenset(),
    frozenset({"thinking"}),
    frozenset({"tool_images"}),
    frozenset({"images", "cache_marks"}),
)


def own_items(calls: tuple[ToolCall, ...], protocol: str, dropped: bool) -> tuple[dict[str, Any], ...]:
    """What a reply of that wire leaves behind, with a call that the turn has dropped."""
    if protocol == "chat_completions":
        return (
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
            *({"id": call.id, "extra_content": {"google": {}}} for call in calls),
        )
    if protocol != "codex_responses":
        return ()
    items = [
        {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.raw,
        }
        for call in calls
    ]
    lost = (
        [{"type": "function_call", "id": "fc_lost", "call_id": "lost", "name": "t", "arguments": "{}"}]
        if dropped
        else []
    )
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}
    return (
        thought,
        *items,
        {"type": "custom_tool_call", "call_id": "theirs", "name": "n", "input": ""},
        thought,
        *lost,
    )


@st.composite
def logs(draw: st.DrawFn) -> tuple[Message, ...]:
    """A log as a session writes it: turns with calls, some interrupted, some compacted, some steered."""
    log, number = Log(), itertools.count()
    for _ in range(draw(st.integers(1, 4))):
        log = log.add(
            User(
                id=f"m{next(number)}",
                at=0,
                text=draw(TEXTS),
                attachments=(PNG,) * draw(st.integers(0, 1)),
                blocks=(ContextBlock(kind="memory", text=draw(TEXTS)),),
            )
        )
        for _ in range(draw(st.integers(0, 3))):
            log = exchange(draw, log, number)
        log = log.add(
            Assistant(id=f"m{next(number)}", at=0, text=draw(TEXTS), thinking=(Thinking(text="hm"),))
        )
        if draw(st.booleans()) and draw(st.booleans()):
            kept = draw(
                st.sampled_from([message.id for message in log.messages if isinstance(message, User)])
            )
            log = log.add(Compaction(id=f"m{next(number)}", at=0, summary=draw(TEXTS), first_kept=kept))
    return (*log.messages, User(id="last", at=0, text="go on"))


def exchange(draw: st.DrawFn, log: Log, number: "itertools.count[int]") -> Log:
    """A reply with calls, and their answers, some of which say that they were interrupted."""
    protocol, family = draw(ORIGINS)
    size = draw(st.integers(1, 3))
    ids = draw(
        st.lists(
            st.sampled_from(["c1", "functions.t:0", "call_" + "x" * 80, "abcdefghi"]),
            min_size=size,
            max_size=size,
            unique=True,
        )
    )
    raws = [draw(RAWS) for _ in ids]
    calls = tuple(
        ToolCall(
            id=call_id, name="t", arguments={"a": 1}, raw=raw, fault="" if raw == '{"a": 1}' else "unreadable"
        )
        for call_id, raw in zip(ids, raws, strict=True)
    )
    opaque = own_items(calls, protocol, draw(st.booleans()))
    log = log.add(
        Assistant(
            id=f"m{next(number)}",
            at=0,
            text=draw(TEXTS),
            calls=calls,
            stop="calls",
            protocol=protocol,
            family=family,
            opaque=opaque,
        )
    )
    for call in calls:
        images = (PNG,) * draw(st.integers(0, 1))
        log = log.add(
            ToolResult(
                id=f"m{next(number)}",
                at=0,
                call_id=call.id,
                name="t",
                content=draw(TEXTS),
                images=images,
                blocks=(ContextBlock(kind="other", text=draw(TEXTS)),),
            )
        )
    return log


def chat_faults(body: dict[str, Any]) -> Iterator[str]:
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        role = message["role"]
        if waiting and (role != "tool" or message["tool_call_id"] != waiting.pop(0)):
            yield f"message {number} does not answer the call before it"
        elif (
            not waiting
            and role == "tool"
            and body["messages"][number - 1]["role"] not in {"assistant", "tool"}
        ):
            yield f"message {number} answers no call"
        if role == "assistant":
            calls = message.get("tool_calls", [])
            waiting = [call["id"] for call in calls]
            yield from (
                f"message {number}: arguments"
                for call in calls
                if not isinstance(json.loads(call["function"]["arguments"]), dict)
            )
            if not calls and message["content"] is None:
                yield f"message {number} is empty"
        if "tool_calls" in message and not message["tool_calls"]:
            yield f"message {number} has an empty list of calls"
    if waiting:
        yield "a call is not answered"


def readable(item: dict[str, Any]) -> bool:
    return isinstance(json.loads(item["arguments"]), dict) and len(item["call_id"]) <= 64


def leads_to_nothing(following: list[dict[str, Any]]) -> bool:
    return (
        not following
        or following[0]["type"] not in {"message", "function_call", "reasoning"}
        or following[0].get("role") == "user"
    )


def item_faults(body: dict[str, Any]) -> Iterator[str]:
    waiting: list[str] = []
    items = body["input"]
    for number, item in enumerate(items):
        kind = item["type"]
        if kind == "function_call":
            waiting.append(item["call_id"])
            yield from [] if readable(item) else [f"item {number} is a call that nobody can read"]
        elif kind == "function_call_output":
            if not waiting or item["call_id"] != waiting.pop(0):
                yield f"item {number} answers no call"
        elif kind == "reasoning":
            if (
                number + 1 == len(items)
                or items[number + 1]["type"] not in {"message", "function_call"}
                or items[number + 1].get("role") == "user"
            ):
                yield f"item {number} is reasoning that leads to nothing"
        elif kind not in {"message", "reasoning"}:
            yield f"item {number} is a {kind}"
        elif waiting and item.get("role") == "user":
            yield f"item {number} stands between a call and its answer"
    if waiting:
        yield "a call is not answered"


@settings(max_examples=150, deadline=None)
@given(logs(), st.sampled_from(PROFILES), st.sampled_from(WITHOUT))
def test_every_log_renders_to_requests_that_a_strict_server_takes(
    messages: tuple[Message, ...], profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(messages, profile, without)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=30_000, deadline=None)
@given(logs(), st.sampled_from(PROFILES), st.sampled_from(WITHOUT))
def test_thirty_thousand_logs_render_to_requests_that_a_strict_server_takes(
    messages: tuple[Message, ...], profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(messages, profile, without)


def last_compaction(messages: tuple[Message, ...]) -> int:
    return max(
        (number for number, message in enumerate(messages) if isinstance(message, Compaction)), default=-1
    )


def check(messages: tuple[Message, ...], profile: Profile, without: frozenset[LeftOut]) -> None:
    endpoint = Endpoint(provider="p", base_url="http://h", model="m", profile=profile)
    request = Request(
        messages=visible(Log(messages, compacted=last_compaction(messages))),
        endpoint=endpoint,
        system="s",
        tools=TOOLS,
        options=Options(),
    )
    asked = Request(endpoint=endpoint, system="s", messages=request.messages, tools=TOOLS, without=without)
    assert list(chat_faults(json.loads(ChatCompletions().render(asked).body))) == []
    assert list(item_faults(json.loads(CodexResponses().render(asked).body))) == []
