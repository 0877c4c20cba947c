"""Any history renders to a request that a strict server takes (invariant 3), whichever wire it was made with."""

import itertools
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.agent.compaction.view import visible
from hermes.agent.log import Log
from hermes.lib.lazy import import_object
from hermes.models.transports.anthropic import transport as anthropic_messages
from hermes.models.transports.base import Transport
from hermes.models.transports.bedrock import transport as bedrock_converse
from hermes.models.transports.registry import WIRES
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
from tests.wire import test_anthropic_messages, test_bedrock_converse
from tests.wire.conversations import CLAUDE, NOTES, PDF, PNG, TOOLS, faults, result, user
from tests.wire.marks import unmarked

WORDS = st.sampled_from(["", " ", "\n\n", "Hello", "ü 🎉", "a\ud83d", '{"x": "],"}'])
IDS = st.sampled_from(["call_0", "call_1", "toolu_abc", "functions.look:0", "", "x" * 80, "with space", "ü"])
FILES = st.builds(Attachment, media_type=st.sampled_from(["image/png", "image/tiff", "application/pdf", "text/plain", "text/csv", "audio/wav"]), data=st.sampled_from([PNG, PDF, NOTES, "", "no base64"]), name=st.sampled_from(["", "a.png", "Ünï (1).pdf"]))  # fmt: skip
THOUGHTS = st.builds(Thinking, text=WORDS, signature=st.sampled_from(["", "sig="])) | st.just(
    Thinking(text="", signature="xyzz", redacted=True)
)
ORIGINS = st.sampled_from([*WIRES, ""])


def calls_of(draw: Callable[..., Any]) -> tuple[ToolCall, ...]:
    ids = draw(st.lists(IDS, max_size=3, unique=True))
    names, faulty = (
        st.sampled_from(["look", "run", "look at", ""]),
        st.sampled_from(["", "The arguments are not valid JSON."]),
    )
    return tuple(
        ToolCall(id=one, name=draw(names), arguments={"at": draw(WORDS)}, raw="{broken", fault=draw(faulty))
        for one in ids
    )


@st.composite
def histories(draw: Callable[..., Any]) -> list[tuple[Message, ...]]:
    """What a model sees at each point where a reply is due, in one session."""
    log, number, points = Log(), itertools.count(), []
    for _ in range(draw(st.integers(1, 4))):
        log = log.add(
            User(
                id=f"u{next(number)}",
                at=0.0,
                text=draw(WORDS),
                blocks=(ContextBlock(kind="memory", text=draw(WORDS)),),
                attachments=tuple(draw(st.lists(FILES, max_size=2))),
            )
        )
        for _ in range(draw(st.integers(0, 3))):
            points.append(visible(log))
            if draw(st.integers(0, 5)) == 0:
                kept = draw(
                    st.sampled_from(
                        [message.id for message in log.messages if isinstance(message, User | Assistant)]
                    )
                )
                log = log.add(Compaction(id=f"k{next(number)}", at=0.0, summary=draw(WORDS), first_kept=kept))
                points.append(visible(log))
            calls = calls_of(draw)
            log = log.add(Assistant(id=f"a{next(number)}", at=0.0, text=draw(WORDS), thinking=tuple(draw(st.lists(THOUGHTS, max_size=2))), calls=calls, protocol=draw(ORIGINS), family=draw(st.sampled_from(["claude", "gpt", ""]))))  # fmt: skip
            for call in calls:
                log = log.add(ToolResult(id=f"r{next(number)}", at=0.0, call_id=call.id, name=call.name, content=draw(WORDS), images=tuple(draw(st.lists(FILES, max_size=1))), failed=draw(st.booleans()), blocks=(ContextBlock(kind="other", text=draw(WORDS)),)))  # fmt: skip
            if not log.waits_for_reply:
                break
        if log.waits_for_reply:
            points.append(visible(log))
            log = log.add(Assistant(id=f"a{next(number)}", at=0.0, text=draw(WORDS)))
    return points


KINDS: Mapping[str, tuple[Callable[[], Transport], Callable[[bytes], bytes]]] = {
    "anthropic": (anthropic_messages.AnthropicMessages, unmarked),
    "bedrock": (bedrock_converse.BedrockConverse, unmarked),
}


def check(
    kind: str, points: list[tuple[Message, ...]], profile: Profile, without: frozenset[LeftOut]
) -> None:
    make, plain_body = KINDS[kind]
    endpoint = Endpoint(provider="p", base_url="http://h", model="m", profile=profile)
    transport, sent = make(), b""
    seen: tuple[Message, ...] = ()
    for messages in points:
        request = Request(
            endpoint=endpoint,
            system="s",
            messages=messages,
            tools=TOOLS,
            options=Options(cache="5m"),
            without=without,
        )
        body = transport.render(request).body
        plain = plain_body(body)
        assert list(faults(json.loads(plain), kind)) == []
        assert str(json.loads(body)).count("cache_control" if kind == "anthropic" else "cachePoint") <= 4
        if messages[: len(seen)] == seen:
            assert plain.startswith(sent.removesuffix(b"]}]}"))
        sent, seen = plain, messages


PROFILES = st.sampled_from([CLAUDE, Profile(), Profile(family="gpt", vision=False, cache_marks=True)])
WITHOUT: st.SearchStrategy[frozenset[LeftOut]] = st.frozensets(
    st.sampled_from(["thinking", "images", "cache_marks"])
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(points=histories(), profile=PROFILES, without=WITHOUT)
def test_any_history_renders_to_what_a_strict_server_takes(
    kind: str, points: list[tuple[Message, ...]], profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(kind, points, profile, without)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2000, deadline=None)
@given(points=histories(), profile=PROFILES, without=WITHOUT)
def test_thousands_of_histories_render_to_what_a_strict_server_takes(
    kind: str, points: list[tuple[Message, ...]], profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(kind, points, profile, without)


CHAT = {
    "id": "x", "usage": {"prompt_tokens": 1},
    "choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [
        {"id": "functions.look:0", "type": "function", "function": {"name": "look", "arguments": '{"at": "ä"}'}}]}}],
}  # fmt: skip
RESPONSES = {
    "id": "resp_1", "object": "response", "status": "completed", "usage": {"input_tokens": 1, "output_tokens": 1},
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_abc", "name": "look", "arguments": '{"at": "ä"}', "status": "completed"},
    ],
}  # fmt: skip
REPLIES: Mapping[str, list[bytes]] = {
    "chat_completions": [json.dumps(CHAT).encode()],
    "codex_responses": [json.dumps(RESPONSES).encode()],
    "anthropic_messages": [test_anthropic_messages.WHOLE, test_anthropic_messages.SEARCH],
    "bedrock_converse": [test_bedrock_converse.WHOLE, test_bedrock_converse.GROUNDED],
}


def told_by(wire: str, body: dict[str, Any]) -> SimpleNamespace:
    """What a request tells a model: calls as (id, name, arguments), ids of results, and all of it as text."""
    match wire:
        case "chat_completions":
            calls = [
                (one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))
                for message in body["messages"]
                for one in message.get("tool_calls") or ()
            ]
            results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
        case "codex_responses":
            calls = [
                (one["call_id"], one["name"], json.loads(one["arguments"]))
                for one in body["input"]
                if one.get("type") == "function_call"
            ]
            results = [one["call_id"] for one in body["input"] if one.get("type") == "function_call_output"]
        case "anthropic_messages":
            blocks = [part for message in body["messages"] for part in message["content"]]
            calls = [(one["id"], one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"]
            results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
        case _:
            blocks = [part for message in body["messages"] for part in message["content"]]
            uses = [one["toolUse"] for one in blocks if "toolUse" in one and "type" not in one["toolUse"]]
            calls = [(one["toolUseId"], one["name"], one["input"]) for one in uses]
            results = [
                one["toolResult"]["toolUseId"]
                for one in blocks
                if "toolResult" in one and "type" not in one["toolResult"]
            ]
    return SimpleNamespace(calls=calls, results=results, text=json.dumps(body, ensure_ascii=False))


def endpoint_of(wire: str, family: str) -> Endpoint:
    return Endpoint(
        provider="p",
        base_url="http://h",
        model="m",
        protocol=wire,  # type: ignore[arg-type]
        profile=replace(CLAUDE, family=family),
    )


@pytest.mark.parametrize("family", ["claude", "gpt"])
@pytest.mark.parametrize("other", WIRES)
@pytest.mark.parametrize("maker", WIRES)
def test_a_history_made_with_one_wire_renders_through_any_other(maker: str, other: str, family: str) -> None:
    for data in REPLIES[maker]:
        made_by, read_by = (import_object(WIRES[wire])() for wire in (maker, other))  # type: ignore[index]
        reader = made_by.reader(
            Request(
                endpoint=endpoint_of(maker, "claude"), system="s", messages=(user(1, "Look?"),), tools=TOOLS
            )
        )
        reader.feed(data)
        reply = replace(reader.finish(), id="a1")
        results = [result(number, call.id, f"seen {number}") for number, call in enumerate(reply.calls)]
        request = Request(
            endpoint=endpoint_of(other, family),
            system="s",
            messages=(user(1, "Look?"), reply, *results, user(2, "And?")),
            tools=TOOLS,
        )
        found = told_by(other, json.loads(read_by.render(request).body))
        assert [(name, arguments) for _, name, arguments in found.calls] == [
            (call.name, dict(call.arguments)) for call in reply.calls
        ]
        assert found.results == [call_id for call_id, _, _ in found.calls]
        kept = (
            reply.opaque and other == maker and family == "claude"
        )  # the texts are in items of the wire's own then
        assert all(
            words in found.text
            for words in ("Look?", "And?", *(one.content for one in results), *([] if kept else [reply.text]))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_sees_what_is_wrong(kind: str) -> None:
    make, _ = KINDS[kind]
    request = Request(endpoint=Endpoint(provider="p", base_url="http://h", model="m"), system="", messages=(user(1, "x"), Assistant(id="a", at=0.0, calls=(ToolCall(id="c", name="t", arguments={}),)), user(2, "y"), result(1, "c", "z")))  # fmt: skip
    assert list(faults(json.loads(make().render(request).body), kind)) == [
        "message 2 has something before its results"
    ]
    unanswered = replace(request, messages=request.messages[:3], without=frozenset[LeftOut]())
    assert list(faults(json.loads(make().render(unanswered).body), kind)) == [
        "message 2 answers [], not ['c']"
    ]
