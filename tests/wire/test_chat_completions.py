import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.chat_completions import ChatCompletions
from hermes.models.transports.chat_reader import ChatReader
from hermes.types.message import Assistant, Attachment, Compaction, Message, Thinking, ToolCall, ToolResult, User
from hermes.types.request import CallStarted, Endpoint, Options, Request, Text, ThinkingText
from hermes.types.usage import Usage

ENDPOINT = Endpoint(provider="custom", base_url="http://h/v1/", model="m", credential="secret", headers={"x-extra": "1"})


def delta(**content: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content}]}


def finish(reason: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def piece(index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    parts = {"index": index, "id": call_id, "function": function}
    return delta(tool_calls=[{key: value for key, value in parts.items() if value is not None}])


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    lines = [b"data: " + json.dumps({"id": "chatcmpl-abcdef123456", **chunk}).encode() + b"\n\n" for chunk in chunks]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def read(data: bytes, *cuts: int) -> Assistant:
    reader = ChatReader(ENDPOINT)
    places = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(places):
        reader.feed(data[start:end])
    return reader.finish()


def shown(reply: Assistant) -> list[tuple[str, str, dict[str, Any]]]:
    return [(call.id, call.name, dict(call.arguments)) for call in reply.calls]


WHOLE = stream(
    delta(role="assistant", content=""), delta(reasoning_content="Let me "), delta(reasoning_content="see. ü"), delta(content="Grü"), delta(content="ße 🎉"),
    piece(0, "c1", "read_file", ""), piece(0, None, None, '{"path"'), piece(0, None, None, ': "ä.txt"}'), piece(1, "c2", "terminal", '{"command": "ls"}'),
    finish("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 2}}},
)  # fmt: skip
REPLY = Assistant(
    id="", at=0.0, text="Grüße 🎉", thinking=(Thinking(text="Let me see. ü"),), stop="calls", model="m", provider="custom", protocol="chat_completions",
    calls=(ToolCall(id="c1", name="read_file", arguments={"path": "ä.txt"}, raw='{"path": "ä.txt"}'), ToolCall(id="c2", name="terminal", arguments={"command": "ls"}, raw='{"command": "ls"}')),
    usage=Usage(input_tokens=9, output_tokens=4, cache_read=8, reasoning=2, requests=1),
)  # fmt: skip


def test_a_stream_becomes_one_whole_reply() -> None:
    assert read(WHOLE) == REPLY


@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    assert read(WHOLE, *cuts) == REPLY


@settings(max_examples=40)
@given(st.integers(0, len(WHOLE)))
def test_carriage_returns_and_comments_change_nothing(cut: int) -> None:
    dressed = WHOLE.replace(b"\n\n", b"\r\n\r\n").replace(b"data:", b": keep-alive\r\ndata:")
    assert read(dressed, cut) == REPLY


def test_deltas_come_as_they_are_written_and_pieces_that_arrive_together_are_merged() -> None:
    reader = ChatReader(ENDPOINT)
    assert reader.feed(stream(delta(reasoning="hm"), delta(content="a"), delta(content="b"), done=False)) == [
        ThinkingText(text="hm"),
        Text(text="ab"),
    ]
    assert reader.feed(stream(piece(0, "c", "run", "{}"), done=False)) == [CallStarted(name="run")]


def test_a_whole_body_takes_the_same_road() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
    body = {
        "id": "x",
        "choices": [{"message": {"role": "assistant", "content": "hi", "tool_calls": [call]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1},
    }
    reply = read(json.dumps(body, indent=1).encode(), 7, 40)
    assert (reply.text, shown(reply), reply.usage.input_tokens) == ("hi", [("c1", "t", {"a": 1})], 1)


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([piece(0, "c1", "run", "{}"), piece(0, "", "run", "")], [("c1", "run", {})]),
        ([piece(0, "c1", "ru", None), piece(0, None, "n", "{}")], [("c1", "run", {})]),
        ([piece(0, "c1", "run", '{"a":1}'), piece(0, "c2", "run", '{"a":2}')], [("c1", "run", {"a": 1}), ("c2", "run", {"a": 2})]),
        (
            [piece(None, "c1", "run", '{"a":'), piece(None, None, None, "1}"), piece(None, "c2", "run", "{}")],
            [("c1", "run", {"a": 1}), ("c2", "run", {})],
        ),
        ([piece(0, "", "run", "{}"), piece(1, "", "run", "{}")], [("call_abcdef123456_0", "run", {}), ("call_abcdef123456_1", "run", {})]),
        ([piece(0, "same", "run", "{}"), piece(1, "same", "go", "{}")], [("same", "run", {}), ("call_abcdef123456_1", "go", {})]),
        ([piece(0, "c1", "run", {"a": 1})], [("c1", "run", {"a": 1})]),
        ([piece(0, "c1", "run", "")], [("c1", "run", {})]),
        ([piece(0, "c1", "run", '"{\\"a\\": 1}"')], [("c1", "run", {"a": 1})]),
        ([piece(0, "c1", "run", '{"text": "two\nlines"}')], [("c1", "run", {"text": "two\nlines"})]),
        ([piece(1, "c2", "b", "{}"), piece(0, "c1", "a", "{}"), piece(1, None, None, "")], [("c2", "b", {}), ("c1", "a", {})]),
    ],
)
def test_calls_are_assembled_however_servers_send_them(chunks: list[dict[str, Any]], calls: list[tuple[str, str, dict[str, Any]]]) -> None:
    reply = read(stream(*chunks, finish("stop")))
    assert (shown(reply), [call.fault for call in reply.calls], reply.stop) == (calls, [""] * len(calls), "calls")


@pytest.mark.parametrize(
    ("arguments", "guess"),
    [
        ('{"a": 1', {"a": 1}),
        ("{'a': 1}", {}),
        ("[1]", {}),
        ("17", {}),
        ('{"a": 1} trailing', {"a": 1}),
        ("{,}", {}),
        ('{"a": 1}}', {"a": 1}),
    ],
)
def test_arguments_that_would_have_to_be_guessed_carry_a_fault(arguments: str, guess: dict[str, Any]) -> None:
    (call,) = read(stream(piece(0, "c1", "run", arguments), finish("tool_calls"))).calls
    assert (dict(call.arguments), call.raw) == (guess, arguments)
    assert "was not run" in call.fault


def test_a_reply_cut_by_length_faults_its_calls() -> None:
    reply = read(stream(piece(0, "c1", "run", "{}"), finish("length")))
    assert reply.stop == "length"
    assert "cut by the output limit" in reply.calls[0].fault


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("tool_calls", "calls"), ("unheard_of", "end")],
)
def test_finish_reasons_are_understood(reason: str, stop: str) -> None:
    assert read(stream(delta(content="x"), finish(reason))).stop == stop


def test_an_error_inside_a_good_answer_is_an_error() -> None:
    with pytest.raises(WireError, match="overloaded") as error:
        read(stream({"error": {"message": "overloaded", "code": 529}}))
    assert error.value.status == 529
    with pytest.raises(WireError, match="plain words"):
        read(b'{"error": "plain words"}')
    with pytest.raises(WireError, match="slow down") as coded:
        read(stream(delta(content="half"), {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}))
    assert (coded.value.status, coded.value.code) == (None, "rate_limit_exceeded")
    with pytest.raises(WireError, match="too long") as plain:
        read(b'{"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}')
    assert (plain.value.status, plain.value.code) == (400, "BadRequestError")


def test_a_choice_that_ends_with_an_error_is_an_error() -> None:
    ended = {"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "upstream died"}}]}
    with pytest.raises(WireError, match="upstream died") as error:
        read(stream(delta(content="half"), ended))
    assert error.value.status == 502
    with pytest.raises(WireError, match="ended the reply with an error"):
        read(stream(delta(content="half"), finish("error")))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"  \r\n", b"{}", b"[]", b'{"detail": "Not Found"}', b"<!doctype html><p>hello", b"data: [DONE]\n\n",
        b'data: {"type": "ping"}\n\ndata: [DONE]\n\n', b"data: oops\n\n", b'{"choices": []}', b'{"choices": 7}',
    ],
)  # fmt: skip
def test_what_is_no_chat_completion_is_a_bad_reply(data: bytes) -> None:
    with pytest.raises(BadReplyError):
        read(data)


@pytest.mark.parametrize("data", [stream(delta(content="half"), done=False), b": ping\n\n: ping\n\n", WHOLE[:40], WHOLE[:-120]])
def test_a_stream_that_ends_too_early_is_not_a_reply(data: bytes) -> None:
    with pytest.raises(CutShortError):
        read(data)


def test_done_without_a_finish_reason_is_a_reply() -> None:
    assert read(stream(delta(content="hello"))).text == "hello"


def test_content_may_come_in_parts() -> None:
    assert read(stream(delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), finish("stop"))).text == "ab"


@given(st.binary(max_size=200))
def test_no_bytes_whatever_break_the_reader_in_another_way(data: bytes) -> None:
    for body in (data, b"data: " + data + b"\n\n", b"{" + data):
        try:
            read(body)
        except (WireError, CutShortError, BadReplyError):
            continue


LOG: tuple[Message, ...] = (
    User(id="u1", at=0.0, text="look", attachments=(Attachment(media_type="image/png", data="AA=="),), recalled="<memory>likes tea</memory>"),
    Assistant(id="a1", at=0.0, text="", calls=(ToolCall(id="c1", name="t", arguments={"x": 1}, raw='{"x":1}'), ToolCall(id="c2", name="t", arguments={}, raw="{broken", fault="no"))),
    ToolResult(id="r1", at=0.0, call_id="c1", name="t", content="{}"),
    ToolResult(id="r2", at=0.0, call_id="c2", name="t", content='{"error": "no"}', note="hurry"),
    Assistant(id="a2", at=0.0, text="done"),
    Compaction(id="k1", at=0.0, summary="what came before", first_kept="u1"),
)  # fmt: skip


def test_a_request_renders_as_the_wire_wants_it() -> None:
    tools = ({"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}},)
    wire = ChatCompletions().render(
        Request(endpoint=ENDPOINT, system="be good", messages=LOG, tools=tools, options=Options(temperature=0.0, max_output=7))
    )
    assert wire.url == "http://h/v1/chat/completions"
    assert (wire.headers["authorization"], wire.headers["x-extra"]) == ("Bearer secret", "1")
    assert json.loads(wire.body) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": [{"type": "text", "text": "<memory>likes tea</memory>\n\nlook"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "{}"},
            {"role": "tool", "tool_call_id": "c2", "content": '{"error": "no"}\n\n[While you were working: hurry]'},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "what came before"},
        ],
        "stream": True, "stream_options": {"include_usage": True}, "tools": list(tools), "temperature": 0.0, "max_tokens": 7,
    }  # fmt: skip


@pytest.mark.parametrize("system", ["", "be good"])
def test_requests_without_messages_or_system_are_json_too(system: str) -> None:
    wire = ChatCompletions().render(Request(endpoint=ENDPOINT, system=system, messages=()))
    assert [message["role"] for message in json.loads(wire.body)["messages"]] == (["system"] if system else [])


def test_each_longer_request_begins_with_the_bytes_of_the_one_before() -> None:
    transport = ChatCompletions()
    bodies = [transport.render(Request(endpoint=ENDPOINT, system="s", messages=LOG[:count])).body for count in range(1, len(LOG) + 1)]
    heads = [body.partition(b'],"stream"')[0] for body in bodies]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(heads))


def test_a_credential_is_in_no_representation() -> None:
    wire = ChatCompletions().render(Request(endpoint=ENDPOINT, system="", messages=()))
    assert "secret" not in repr(ENDPOINT)
    assert wire.headers["authorization"] == "Bearer secret"
