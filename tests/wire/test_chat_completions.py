import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.chat.reader import ChatReader
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.models.transports.common.parameters import nearest
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
from hermes.types.request import Auth, CallStarted, Endpoint, LeftOut, Options, Request, Text, ThinkingText
from hermes.types.usage import Usage
from tests.wire.marks import unmarked

ENDPOINT = Endpoint(
    provider="custom", base_url="http://h/v1/", model="m", credential="secret", headers={"x-extra": "1"}
)


def delta(**content: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content}]}


def finish(reason: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def piece(
    index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    parts = {"index": index, "id": call_id, "function": function}
    return delta(tool_calls=[{key: value for key, value in parts.items() if value is not None}])


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    lines = [
        b"data: " + json.dumps({"id": "chatcmpl-abcdef123456", **chunk}).encode() + b"\n\n"
        for chunk in chunks
    ]
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
        "choices": [
            {
                "message": {"role": "assistant", "content": "hi", "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1},
    }
    reply = read(json.dumps(body, indent=1).encode(), 7, 40)
    assert (reply.text, shown(reply), reply.usage.input_tokens) == ("hi", [("c1", "t", {"a": 1})], 1)


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([piece(0, "c1", "run", "{}"), piece(0, "", "run", "")], [("c1", "run", {})]),
        ([piece(0, "c1", "ru", None), piece(0, None, "n", "{}")], [("c1", "run", {})]),
        (
            [piece(0, "c1", "run", '{"a":1}'), piece(0, "c2", "run", '{"a":2}')],
            [("c1", "run", {"a": 1}), ("c2", "run", {"a": 2})],
        ),
        (
            [
                piece(None, "c1", "run", '{"a":'),
                piece(None, None, None, "1}"),
                piece(None, "c2", "run", "{}"),
            ],
            [("c1", "run", {"a": 1}), ("c2", "run", {})],
        ),
        (
            [piece(0, "", "run", "{}"), piece(1, "", "run", "{}")],
            [("call_abcdef123456_0", "run", {}), ("call_abcdef123456_1", "run", {})],
        ),
        (
            [piece(0, "same", "run", "{}"), piece(1, "same", "go", "{}")],
            [("same", "run", {}), ("call_abcdef123456_1", "go", {})],
        ),
        ([piece(0, "c1", "run", {"a": 1})], [("c1", "run", {"a": 1})]),
        ([piece(0, "c1", "run", "")], [("c1", "run", {})]),
        ([piece(0, "c1", "run", '"{\\"a\\": 1}"')], [("c1", "run", {"a": 1})]),
        ([piece(0, "c1", "run", '{"text": "two\nlines"}')], [("c1", "run", {"text": "two\nlines"})]),
        (
            [piece(1, "c2", "b", "{}"), piece(0, "c1", "a", "{}"), piece(1, None, None, "")],
            [("c2", "b", {}), ("c1", "a", {})],
        ),
    ],
)
def test_calls_are_assembled_however_servers_send_them(
    chunks: list[dict[str, Any]], calls: list[tuple[str, str, dict[str, Any]]]
) -> None:
    reply = read(stream(*chunks, finish("stop")))
    assert (shown(reply), [call.fault for call in reply.calls], reply.stop) == (
        calls,
        [""] * len(calls),
        "calls",
    )


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
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("tool_calls", "calls"),
        ("unheard_of", "end"),
    ],
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
        read(
            stream(delta(content="half"), {"error": {"message": "slow down", "code": "rate_limit_exceeded"}})
        )
    assert (coded.value.status, coded.value.code) == (None, "rate_limit_exceeded")
    with pytest.raises(WireError, match="too long") as plain:
        read(b'{"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}')
    assert (plain.value.status, plain.value.code) == (400, "BadRequestError")


def test_a_choice_that_ends_with_an_error_is_an_error() -> None:
    ended = {
        "choices": [
            {
                "delta": {"content": ""},
                "finish_reason": "error",
                "error": {"code": 502, "message": "upstream died"},
            }
        ]
    }
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


@pytest.mark.parametrize(
    "data", [stream(delta(content="half"), done=False), b": ping\n\n: ping\n\n", WHOLE[:40], WHOLE[:-120]]
)
def test_a_stream_that_ends_too_early_is_not_a_reply(data: bytes) -> None:
    with pytest.raises(CutShortError):
        read(data)


def test_done_without_a_finish_reason_is_a_reply() -> None:
    assert read(stream(delta(content="hello"))).text == "hello"


def test_content_may_come_in_parts() -> None:
    assert (
        read(
            stream(
                delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), finish("stop")
            )
        ).text
        == "ab"
    )


@given(st.binary(max_size=200))
def test_no_bytes_whatever_break_the_reader_in_another_way(data: bytes) -> None:
    for body in (data, b"data: " + data + b"\n\n", b"{" + data):
        try:
            read(body)
        except (WireError, CutShortError, BadReplyError):
            continue


LOG: tuple[Message, ...] = (
    User(id="u1", at=0.0, text="look", attachments=(Attachment(media_type="image/png", data="AA=="),), blocks=(ContextBlock(kind="hook", text="<memory>likes tea</memory>"),)),
    Assistant(id="a1", at=0.0, text="", calls=(ToolCall(id="c1", name="t", arguments={"x": 1}, raw='{"x":1}'), ToolCall(id="c2", name="t", arguments={}, raw="{broken", fault="no"))),
    ToolResult(id="r1", at=0.0, call_id="c1", name="t", content="{}"),
    ToolResult(id="r2", at=0.0, call_id="c2", name="t", content='{"error": "no"}', blocks=(ContextBlock(kind="other", text="hurry"),)),
    Assistant(id="a2", at=0.0, text="done"),
    Compaction(id="k1", at=0.0, summary="what came before", first_kept="u1"),
)  # fmt: skip


def test_a_request_renders_as_the_wire_wants_it() -> None:
    tools = (
        {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}},
    )
    wire = ChatCompletions().render(
        Request(
            endpoint=ENDPOINT,
            system="be good",
            messages=LOG,
            tools=tools,
            options=Options(temperature=0.0, max_output=7),
        )
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
    assert [message["role"] for message in json.loads(wire.body)["messages"]] == (
        ["system"] if system else []
    )


def test_each_longer_request_begins_with_the_bytes_of_the_one_before() -> None:
    transport = ChatCompletions()
    bodies = [
        transport.render(Request(endpoint=ENDPOINT, system="s", messages=LOG[:count])).body
        for count in range(1, len(LOG) + 1)
    ]
    heads = [body.partition(b'],"stream"')[0] for body in bodies]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(heads))


def test_a_credential_is_in_no_representation() -> None:
    wire = ChatCompletions().render(Request(endpoint=ENDPOINT, system="", messages=()))
    assert "secret" not in repr(ENDPOINT)
    assert wire.headers["authorization"] == "Bearer secret"


def body_of(
    *messages: Message, profile: Profile, transport: ChatCompletions | None = None, **fields: Any
) -> dict[str, Any]:
    endpoint = replace(
        ENDPOINT,
        profile=profile,
        **({"extra_body": fields.pop("extra_body")} if "extra_body" in fields else {}),
    )
    request = Request(endpoint=endpoint, system="s", messages=messages, **fields)
    return dict(json.loads((transport or ChatCompletions()).render(request).body))


HARD = Options(temperature=0.5, max_output=7, effort="max")


@pytest.mark.parametrize(
    ("profile", "without", "parameters"),
    [
        (Profile(), set(), {"temperature": 0.5, "max_tokens": 7}),
        (Profile(limit_name="max_completion_tokens", omits=frozenset({"temperature"}), thinking="effort", efforts=("low", "high")), set(), {"max_completion_tokens": 7, "reasoning_effort": "high"}),
        (Profile(thinking="effort", efforts=("low", "high"), effort_field="reasoning.effort"), set(), {"temperature": 0.5, "max_tokens": 7, "reasoning": {"effort": "high"}}),
        (Profile(thinking="effort"), set(), {"temperature": 0.5, "max_tokens": 7}),
        (Profile(thinking="toggle"), set(), {"temperature": 0.5, "max_tokens": 7, "enable_thinking": True}),
        (Profile(thinking="toggle", toggle_field="thinking.type", toggle=("enabled", "disabled")), {"limit"}, {"temperature": 0.5, "thinking": {"type": "enabled"}}),
        (Profile(fixed={"temperature": 1.0}), set(), {"temperature": 1.0, "max_tokens": 7}),
        (Profile(thinking="budget"), {"temperature"}, {"max_tokens": 7}),
        (Profile(thinking="effort", efforts=("high",)), {"effort"}, {"temperature": 0.5, "max_tokens": 7}),
        (Profile(thinking="effort", efforts=("high",)), {"thinking", "temperature", "limit"}, {}),
    ],
)  # fmt: skip
def test_parameters_follow_the_profile_and_what_was_refused(
    profile: Profile, without: set[LeftOut], parameters: dict[str, Any]
) -> None:
    body = body_of(LOG[0], profile=profile, options=HARD, without=frozenset(without))
    assert {
        name: value
        for name, value in body.items()
        if name not in {"model", "messages", "stream", "stream_options"}
    } == parameters


def test_a_limit_is_sent_only_where_one_is_asked_for() -> None:
    capped = Request(endpoint=replace(ENDPOINT, max_output=9000), system="s", messages=LOG[:1])
    bodies = [
        json.loads(ChatCompletions().render(replace(capped, options=Options(max_output=limit))).body)
        for limit in (None, 50)
    ]
    assert [body.get("max_tokens") for body in bodies] == [None, 50]


def test_no_reasoning_can_be_asked_for() -> None:
    toggled = Profile(thinking="toggle", toggle_field="thinking.type", toggle=("enabled", "disabled"))
    assert body_of(LOG[0], profile=toggled, options=Options(effort="none"))["thinking"] == {
        "type": "disabled"
    }


@pytest.mark.parametrize(
    ("wanted", "accepted", "given"),
    [
        ("high", "low medium high", "high"), ("max", "low high", "high"), ("none", "minimal low", "minimal"), ("minimal", "none low", "none"),
        ("medium", "low high", "low"), ("xhigh", "low max", "max"), ("", "low", ""), ("high", "", ""), ("odd", "low", ""), ("odd", "odd", "odd"),
    ],
)  # fmt: skip
def test_the_nearest_effort_is_asked_for(wanted: str, accepted: str, given: str) -> None:
    assert nearest(wanted, accepted.split()) == given


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ("bearer", {"authorization": "Bearer secret"}),
        ("api-key", {"api-key": "secret"}),
        ("x-api-key", {"x-api-key": "secret"}),
        ("aws", {}),
    ],
)
def test_the_credential_travels_as_the_endpoint_wants_it(auth: Auth, sent: dict[str, str]) -> None:
    endpoint = replace(ENDPOINT, auth=auth, headers={}, base_url="http://h/openai/v1?api-version=7")
    wire = ChatCompletions().render(Request(endpoint=endpoint, system="", messages=LOG[:1]))
    assert wire.url == "http://h/openai/v1/chat/completions?api-version=7"
    assert {
        name: value for name, value in wire.headers.items() if name not in {"content-type", "accept"}
    } == sent


def test_what_the_user_adds_is_in_the_body_and_does_not_replace_the_conversation() -> None:
    extra = {"seed": 7, "model": "other", "messages": [], "stream": False, "temperature": 0.1}
    body = body_of(LOG[0], profile=Profile(), extra_body=extra, options=HARD)
    assert (body["seed"], body["model"], len(body["messages"]), body["stream"], body["temperature"]) == (
        7,
        "m",
        2,
        True,
        0.1,
    )


PNG = Attachment(media_type="image/png", data="AA==")
LOOK = (
    User(id="u1", at=0.0, text="look", attachments=(PNG, Attachment(media_type="application/pdf", data="BB==", name="a.pdf"), Attachment(media_type="text/plain", data="aGk=", name="n.txt"))),
    Assistant(id="a1", at=0.0, calls=(ToolCall(id="c1", name="t", arguments={}), ToolCall(id="c2", name="t", arguments={}))),
    ToolResult(id="r1", at=0.0, call_id="c1", name="t", content="one", images=(PNG,)),
    ToolResult(id="r2", at=0.0, call_id="c2", name="t", content="two", images=(PNG,)),
    Assistant(id="a2", at=0.0, text="seen"),
)  # fmt: skip
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def test_files_go_as_the_model_takes_them() -> None:
    seen = body_of(*LOOK, profile=Profile(documents=True))["messages"]
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BB=="}}
    assert seen[1]["content"] == [
        {"type": "text", "text": "look"},
        IMAGE,
        pdf,
        {"type": "text", "text": "[The file n.txt:]\nhi"},
    ]
    assert seen[3:6] == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "The images of the results above:"}, IMAGE, IMAGE],
        },
    ]
    inside = body_of(*LOOK, profile=Profile(tool_images=True))["messages"]
    assert [message["role"] for message in inside] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert inside[3]["content"] == [{"type": "text", "text": "one"}, IMAGE]
    for blind in (
        body_of(*LOOK, profile=Profile(vision=False)),
        body_of(*LOOK, profile=Profile(), without=frozenset({"images"})),
    ):
        assert "image_url" not in json.dumps(blind)
        assert "this model does not take it" in blind["messages"][1]["content"][1]["text"]
    refused = body_of(*LOOK, profile=Profile(tool_images=True), without=frozenset({"tool_images"}))[
        "messages"
    ]
    assert [message["role"] for message in refused] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]


def marks_of(body: dict[str, Any]) -> list[tuple[str, Any]]:
    parts = [
        (message["role"], part)
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return [(role, part["cache_control"]) for role, part in parts if "cache_control" in part]


def test_the_system_prompt_and_the_last_three_messages_that_can_carry_one_are_marked() -> None:
    marking, usual = Profile(cache_marks=True), {"type": "ephemeral"}
    assert marks_of(body_of(*LOOK, profile=marking, options=Options(cache="5m"))) == [
        ("system", usual),
        ("tool", usual),
        ("user", usual),
        ("assistant", usual),
    ]
    assert marks_of(body_of(*LOOK[:2], profile=marking, options=Options(cache="1h"))) == [
        ("system", {"type": "ephemeral", "ttl": "1h"}),
        ("user", {"type": "ephemeral", "ttl": "1h"}),
    ]
    refused = frozenset({"cache_marks"})
    assert marks_of(body_of(*LOOK, profile=marking, without=refused, options=Options(cache="5m"))) == []


def test_nothing_is_marked_when_the_settings_turn_marks_off() -> None:
    assert marks_of(body_of(*LOOK, profile=Profile(cache_marks=True), options=Options(cache=""))) == []


def test_without_its_marks_each_request_begins_with_the_bytes_of_the_one_before() -> None:
    transport, endpoint = ChatCompletions(), replace(ENDPOINT, profile=Profile(cache_marks=True))
    log = (
        *LOOK,
        User(id="u2", at=0.0, text='a trap: ,"cache_control":{"type":"ephemeral"}'),
        Assistant(id="a3", at=0.0, text=""),
        *LOG[3:],
    )
    ends = [count for count in range(1, len(log) + 1) if not isinstance(log[count - 1], ToolResult)]
    bodies = [
        transport.render(Request(endpoint=endpoint, system="s", messages=log[:end])).body for end in ends
    ]
    heads = [unmarked(body).rpartition(b'],"stream"')[0] for body in bodies]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(heads))
    assert b'a trap: ,\\"cache_control\\"' in unmarked(bodies[-1])


def test_structured_reasoning_is_put_together_and_goes_back_to_the_same_family() -> None:
    pieces = [
        delta(
            reasoning="Let ",
            reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Let ", "format": "x"}],
        ),
        delta(
            reasoning="me.",
            reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "me.", "signature": None}],
        ),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "", "signature": "sig"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "gAAA"}]),
    ]
    whole = [
        {"type": "reasoning.text", "index": 0, "text": "Let me.", "format": "x", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "gAAA"},
    ]
    reply = read(stream(*pieces, delta(content="hi"), finish("stop")))
    assert (reply.thinking, reply.opaque) == ((Thinking(text="Let me."),), ({"reasoning_details": whole},))
    assert body_of(replace(reply, id="a"), profile=Profile())["messages"][1] == {
        "role": "assistant",
        "reasoning_details": whole,
        "content": "hi",
    }
    assert body_of(replace(reply, id="a"), profile=Profile(family="other"))["messages"][1] == {
        "role": "assistant",
        "content": "hi",
    }
    assert body_of(replace(reply, id="a", protocol="codex_responses"), profile=Profile())["messages"][1] == {
        "role": "assistant",
        "content": "hi",
    }
    assert "reasoning_details" not in str(
        body_of(replace(reply, id="a"), profile=Profile(), without=frozenset({"thinking"}))
    )


def test_reasoning_that_comes_only_structured_is_shown() -> None:
    reader = ChatReader(ENDPOINT)
    assert reader.feed(
        stream(delta(reasoning_details=[{"type": "reasoning.summary", "summary": "hm"}]), done=False)
    ) == [ThinkingText(text="hm")]


def test_signatures_of_thoughts_stay_with_their_calls() -> None:
    signed = piece(1, "c2", "b", "{}")
    signed["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "sig"}}
    reply = read(stream(piece(0, "c1", "a", "{}"), signed, finish("tool_calls")))
    assert reply.opaque == ({"id": "c2", "extra_content": {"google": {"thought_signature": "sig"}}},)
    calls = body_of(replace(reply, id="a"), profile=Profile())["messages"][1]["tool_calls"]
    assert [call.get("extra_content") for call in calls] == [None, {"google": {"thought_signature": "sig"}}]
    kept = body_of(replace(reply, id="a", calls=reply.calls[:1]), profile=Profile())["messages"][1][
        "tool_calls"
    ]
    assert [call["id"] for call in kept] == ["c1"]


def test_plain_reasoning_goes_back_where_the_model_wants_it() -> None:
    thinker, thought = (
        Profile(replays_reasoning=True),
        (Thinking(text="one"), Thinking(text="", signature="s", redacted=True), Thinking(text="two")),
    )
    spoken = Assistant(id="a", at=0.0, text="hi", thinking=thought)
    assert body_of(spoken, profile=thinker)["messages"][1] == {
        "role": "assistant",
        "reasoning_content": "one\n\ntwo",
        "content": "hi",
    }
    assert "reasoning_content" not in body_of(spoken, profile=Profile())["messages"][1]
    assert (
        "reasoning_content"
        not in body_of(spoken, profile=thinker, without=frozenset({"thinking"}))["messages"][1]
    )
    assert (
        body_of(LOG[1], profile=thinker)["messages"][1]["reasoning_content"]
        == "(The reasoning was not kept.)"
    )


def test_ids_that_a_server_does_not_take_are_replaced_in_call_and_answer_alike() -> None:
    nine = body_of(*LOOK, profile=Profile(call_ids="[A-Za-z0-9]{9}"))["messages"]
    ids = [call["id"] for call in nine[2]["tool_calls"]]
    assert ids == [nine[3]["tool_call_id"], nine[4]["tool_call_id"]]
    assert all(len(one) == 9 and one.isalnum() for one in ids)
    assert len(set(ids)) == 2


def test_the_system_prompt_has_the_role_that_the_model_reads_it_in() -> None:
    assert body_of(profile=Profile(system_role="developer"))["messages"] == [
        {"role": "developer", "content": "s"}
    ]


def test_a_message_is_written_anew_only_when_what_the_endpoint_takes_has_changed() -> None:
    transport = ChatCompletions()
    first = Request(endpoint=ENDPOINT, system="s", messages=LOOK)
    transport.render(first)
    kept = dict(transport._buffer._blocks)
    transport.render(replace(first, messages=(*LOOK, LOG[0])))
    assert all(transport._buffer._blocks[name] is block for name, block in kept.items())
    assert b"image_url" not in transport.render(replace(first, without=frozenset({"images"}))).body
    assert b"image_url" in transport.render(first).body


def test_counts_of_tokens_are_found_wherever_servers_put_them() -> None:
    told = {
        "choices": [
            {
                "delta": {},
                "finish_reason": "stop",
                "usage": {"prompt_tokens": 9.0, "completion_tokens": 1, "cached_tokens": 4},
            }
        ]
    }
    assert read(stream(delta(content="x"), told)).usage == Usage(
        input_tokens=9, output_tokens=1, cache_read=4, requests=1
    )
    written = {
        "choices": [],
        "usage": {
            "prompt_tokens": 9,
            "prompt_cache_hit_tokens": 3,
            "prompt_tokens_details": {"cache_write_tokens": 5},
        },
    }
    assert read(stream(delta(content="x"), finish("stop"), written)).usage == Usage(
        input_tokens=9, cache_read=3, cache_write=5, requests=1
    )


def test_parts_of_reasoning_among_the_content_are_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "hi"},
    ]
    reply = read(stream(delta(content=parts), finish("stop")))
    assert (reply.thinking, reply.text) == ((Thinking(text="hm"),), "hi")


def test_fields_of_odd_types_break_nothing() -> None:
    odd = {
        "id": 7,
        "choices": [
            {
                "index": "0",
                "delta": {"content": "x", "reasoning": {"a": 1}, "refusal": [], "annotations": [7]},
                "logprobs": 1,
            }
        ],
    }
    assert read(stream(odd, finish("stop"))).text == "x"
