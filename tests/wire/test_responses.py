import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.responses.reader import ResponsesReader
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
from hermes.types.request import CallStarted, Endpoint, Options, Remark, Request, Text, ThinkingText
from hermes.types.usage import Usage

GPT = Profile(
    family="gpt",
    thinking="effort",
    efforts=("low", "medium", "high"),
    omits=frozenset({"temperature"}),
    documents=True,
)
ENDPOINT = Endpoint(provider="openai", base_url="http://h/v1/", model="m", profile=GPT, credential="secret")


def event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


def done(index: int, item: dict[str, Any]) -> bytes:
    began = {**item, "content": [], "arguments": ""}
    return event("response.output_item.added", output_index=index, item=began) + event(
        "response.output_item.done", output_index=index, item=item
    )


def end(status: str = "completed", **fields: Any) -> bytes:
    return event(
        f"response.{status}", response={"id": "resp_abcdef123456", "status": status, "output": [], **fields}
    )


def said(text: str, item_id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": item_id,
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **fields,
    }


def called(call_id: str, name: str = "look", arguments: str = "{}") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def thought(text: str, item_id: str = "rs_1", encrypted: str = "gAAA=") -> dict[str, Any]:
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": encrypted,
    }


def read(data: bytes, *cuts: int) -> Assistant:
    reader = ResponsesReader(ENDPOINT)
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(data)]):
        reader.feed(data[start:stop])
    return reader.finish()


ITEMS = [
    thought("Let me see. ü"),
    said("Grüße 🎉"),
    called("c1", "read_file", '{"path": "ä.txt"}'),
    called("c2", "terminal", '{"command": "ls"}'),
]
USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 4,
    "output_tokens_details": {"reasoning_tokens": 2},
}
WHOLE = b"".join(
    [
        event("response.created", response={"id": "resp_abcdef123456", "status": "in_progress"}),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="Let me "),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="see. ü"),
        done(0, ITEMS[0]),
        event("response.output_text.delta", output_index=1, content_index=0, delta="Grü"),
        event("response.output_text.delta", output_index=1, content_index=0, delta="ße 🎉"),
        done(1, ITEMS[1]),
        event("response.function_call_arguments.delta", output_index=2, delta="{}"),
        done(2, ITEMS[2]),
        done(3, ITEMS[3]),
        end(usage=USAGE),
    ]
)
REPLY = Assistant(
    id="", at=0.0, text="Grüße 🎉", thinking=(Thinking(text="Let me see. ü"),), stop="calls", model="m", provider="openai", protocol="codex_responses", family="gpt",
    calls=(ToolCall(id="c1", name="read_file", arguments={"path": "ä.txt"}, raw='{"path": "ä.txt"}'), ToolCall(id="c2", name="terminal", arguments={"command": "ls"}, raw='{"command": "ls"}')),
    usage=Usage(input_tokens=9, output_tokens=4, cache_read=8, reasoning=2, requests=1), opaque=tuple(ITEMS),
)  # fmt: skip


def test_a_stream_becomes_one_whole_reply() -> None:
    assert read(WHOLE) == REPLY


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    assert read(WHOLE, *cuts) == REPLY


def test_a_whole_body_takes_the_same_road() -> None:
    body = json.dumps(
        {
            "id": "resp_abcdef123456",
            "object": "response",
            "status": "completed",
            "error": None,
            "output": ITEMS,
            "usage": USAGE,
        },
        indent=1,
    )
    assert read(body.encode(), 7, 40) == REPLY


def test_deltas_come_as_they_are_written_and_pieces_that_arrive_together_are_merged() -> None:
    reader = ResponsesReader(ENDPOINT)
    assert reader.feed(WHOLE) == [
        ThinkingText(text="Let me see. ü"),
        Text(text="Grüße 🎉"),
        CallStarted(name="read_file"),
        CallStarted(name="terminal"),
    ]
    assert reader.progress == WHOLE.count(b"data:")


def test_what_is_shown_is_what_is_kept_when_a_reply_has_several_messages() -> None:
    reader = ResponsesReader(ENDPOINT)
    shown = [
        delta
        for data in (
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="one"),
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="two"),
            event("response.output_text.delta", output_index=1, delta="first"),
            event("response.output_text.delta", output_index=2, delta="second"),
            done(1, said("first", phase="commentary")) + done(2, said("second", "msg_2")) + end(),
        )
        for delta in reader.feed(data)
    ]
    reply = reader.finish()
    assert (
        "".join(delta.text for delta in shown if isinstance(delta, Text)) == reply.text == "first\n\nsecond"
    )
    assert "".join(delta.text for delta in shown if isinstance(delta, ThinkingText)) == "one\n\ntwo"
    assert len(reply.opaque) == 2


def test_a_reply_that_text_and_calls_say_keeps_no_items() -> None:
    assert read(done(0, said("hi")) + done(1, called("c1")) + end()).opaque == ()
    assert len(read(done(0, called("c1")) + done(1, said("hi")) + end()).opaque) == 2


def test_items_that_are_not_understood_are_kept_and_shown_once() -> None:
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    reader = ResponsesReader(ENDPOINT)
    deltas = reader.feed(done(0, search) + done(1, said("found")) + end())
    assert deltas == [Remark(text="The reply holds an item that is not understood here: web_search_call.")]
    assert reader.finish().opaque == (search, said("found"))


def test_calls_without_an_id_of_their_own_get_one_and_their_items_too() -> None:
    reply = read(done(0, thought("x")) + done(1, called("same")) + done(2, called("same")) + end())
    assert [call.id for call in reply.calls] == ["same", "call_abcdef123456_1"]
    assert [item["call_id"] for item in reply.opaque[1:]] == ["same", "call_abcdef123456_1"]


@pytest.mark.parametrize(
    ("status", "fields", "stop"),
    [
        ("completed", {}, "end"),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ("incomplete", {"incomplete_details": {"reason": "unheard_of"}}, "error"),
    ],
)
def test_statuses_are_understood(status: str, fields: dict[str, Any], stop: str) -> None:
    assert read(done(0, said("x")) + end(status, **fields)).stop == stop


def test_a_refusal_is_text_and_a_stop() -> None:
    refused = said("")
    refused["content"] = [{"type": "refusal", "refusal": "I will not."}]
    reply = read(
        event("response.refusal.delta", output_index=0, delta="I will not.") + done(0, refused) + end()
    )
    assert (reply.text, reply.stop) == ("I will not.", "refusal")


def test_a_reply_cut_by_length_faults_its_calls() -> None:
    reply = read(
        done(0, called("c1", arguments='{"a": 1}'))
        + end("incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert "cut by the output limit" in reply.calls[0].fault


@pytest.mark.parametrize(
    ("data", "message", "status", "code"),
    [
        (end("failed", error={"code": "rate_limit_exceeded", "message": "slow down"}), "slow down", 429, "rate_limit_exceeded"),
        (event("error", code="server_error", message="oops", param=None), "oops", 500, "server_error"),
        (event("error", error={"type": "invalid_request_error", "code": "context_length_exceeded", "message": "too long"}), "too long", None, "context_length_exceeded"),
        (end("cancelled"), "The provider cancelled the reply.", None, "cancelled"),
        (b'{"error": {"message": "no", "code": 401}}', "no", 401, "401"),
        (b'{"status": "failed", "output": [], "error": {"code": "server_error", "message": "oops"}}', "oops", 500, "server_error"),
    ],
)  # fmt: skip
def test_errors_inside_a_good_answer_are_errors(
    data: bytes, message: str, status: int | None, code: str
) -> None:
    with pytest.raises(WireError) as error:
        read(data)
    assert (str(error.value), error.value.status, error.value.code) == (message, status, code)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"{}",
        b"[]",
        b"<html>",
        b"data: 7\n\n",
        b"data: oops\n\n",
        b'data: {"choices": []}\n\ndata: [DONE]\n\n',
    ],
)
def test_what_is_no_reply_is_a_bad_reply(data: bytes) -> None:
    with pytest.raises(BadReplyError):
        read(data)


@pytest.mark.parametrize("data", [b": ping\n\n", WHOLE[:300], WHOLE[: -len(end(usage=USAGE))], WHOLE[:-20]])
def test_a_stream_that_ends_before_its_last_event_is_not_a_reply(data: bytes) -> None:
    with pytest.raises(CutShortError):
        read(data)


@given(st.binary(max_size=200))
def test_no_bytes_whatever_break_the_reader_in_another_way(data: bytes) -> None:
    for body in (data, b"data: " + data + b"\n\n", b"{" + data):
        try:
            read(body)
        except (WireError, CutShortError, BadReplyError):
            continue


JSON = st.recursive(st.one_of(st.none(), st.integers(0, 3), st.just("message"), st.just("function_call")), lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from(["type", "item", "response", "output", "content", "delta", "error", "status", "summary", "call_id", "arguments", "incomplete_details"]), inside, max_size=5), max_leaves=10)  # fmt: skip


@settings(max_examples=200)
@given(
    st.sampled_from(
        [
            "response.output_item.done",
            "response.output_item.added",
            "response.completed",
            "response.output_text.delta",
            "error",
        ]
    ),
    st.dictionaries(
        st.sampled_from(["item", "response", "delta", "error", "output_index"]), JSON, max_size=3
    ),
)
def test_no_event_whatever_breaks_the_reader_in_another_way(kind: str, fields: dict[str, Any]) -> None:
    try:
        read(event(kind, **fields) + end())
    except (WireError, CutShortError, BadReplyError):
        return


PNG = Attachment(media_type="image/png", data="AA==")
LOG: tuple[Message, ...] = (
    User(id="u1", at=0.0, text="look", attachments=(PNG, Attachment(media_type="application/pdf", data="BB==", name="a.pdf")), blocks=(ContextBlock(kind="hook", text="<memory>tea</memory>"),)),
    Assistant(id="a1", at=0.0, text="I will", calls=(ToolCall(id="c1", name="t", arguments={"x": 1}, raw='{"x":1}'), ToolCall(id="c2" * 40, name="t", arguments={}, raw="{broken", fault="no"))),
    ToolResult(id="r1", at=0.0, call_id="c1", name="t", content="{}", images=(PNG,)),
    ToolResult(id="r2", at=0.0, call_id="c2" * 40, name="t", content='{"error": "no"}', blocks=(ContextBlock(kind="other", text="hurry"),)),
    Assistant(id="a2", at=0.0, text="done"),
    Compaction(id="k1", at=0.0, summary="what came before", first_kept="u1"),
)  # fmt: skip
TOOLS = (
    {
        "type": "function",
        "function": {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}},
    },
)


def rendered(
    *messages: Message, without: frozenset[Any] = frozenset(), profile: Profile = GPT, **fields: Any
) -> dict[str, Any]:
    endpoint = Endpoint(provider="openai", base_url="http://h/v1", model="m", profile=profile)
    return dict(
        json.loads(
            CodexResponses()
            .render(Request(endpoint=endpoint, system="s", messages=messages, without=without, **fields))
            .body
        )
    )


def test_a_request_renders_as_the_wire_wants_it() -> None:
    wire = CodexResponses().render(
        Request(
            endpoint=ENDPOINT,
            system="be good",
            messages=LOG,
            tools=TOOLS,
            options=Options(temperature=0.0, max_output=7, effort="max"),
        )
    )
    assert (wire.url, wire.headers["authorization"]) == ("http://h/v1/responses", "Bearer secret")
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
    assert json.loads(wire.body) == {
        "model": "m", "instructions": "be good",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<memory>tea</memory>\n\nlook"}, image, {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,BB=="}]},
            {"type": "message", "role": "assistant", "content": "I will"},
            {"type": "function_call", "call_id": "c1", "name": "t", "arguments": '{"x":1}'},
            {"type": "function_call", "call_id": "0ed17962d", "name": "t", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "{}"}, image]},
            {"type": "function_call_output", "call_id": "0ed17962d", "output": '{"error": "no"}\n\n[While you were working: hurry]'},
            {"type": "message", "role": "assistant", "content": "done"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "what came before"}]},
        ],
        "stream": True, "store": False, "tools": [{"type": "function", "name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}, "strict": False}],
        "max_output_tokens": 7, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "high", "summary": "auto"},
    }  # fmt: skip


def test_each_longer_request_begins_with_the_bytes_of_the_one_before() -> None:
    transport = CodexResponses()
    log = (LOG[0], Assistant(**{**fields_of(REPLY), "id": "a0"}), *LOG[1:])
    bodies = [
        transport.render(Request(endpoint=ENDPOINT, system="s", messages=log[:count])).body
        for count in range(1, len(log) + 1)
    ]
    heads = [body.rpartition(b'],"stream"')[0] for body in bodies]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(heads))


def fields_of(reply: Assistant) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in Assistant.__struct_fields__ if name != "kind"}


def replayed(reply: Assistant, **fields: Any) -> list[dict[str, Any]]:
    return list(rendered(Assistant(**{**fields_of(reply), "id": "a", **fields}))["input"])


def test_own_items_go_back_as_they_came() -> None:
    assert replayed(REPLY) == ITEMS


def test_a_call_that_was_dropped_is_not_replayed_and_a_changed_one_is_replayed_as_it_was_run() -> None:
    changed = ToolCall(id="c2", name="terminal", arguments={"command": "pwd"}, repaired=True)
    assert replayed(REPLY, calls=(changed,)) == [*ITEMS[:2], {**ITEMS[3], "arguments": '{"command":"pwd"}'}]
    only_thought = read(done(0, thought("x")) + done(1, called("c1")) + end())
    assert replayed(only_thought, calls=()) == []


def test_another_family_or_wire_hears_text_and_calls_only() -> None:
    plain = [
        {"type": "message", "role": "assistant", "content": "Grüße 🎉"},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "ä.txt"}'},
        {"type": "function_call", "call_id": "c2", "name": "terminal", "arguments": '{"command": "ls"}'},
    ]
    assert replayed(REPLY, family="grok") == replayed(REPLY, protocol="chat_completions") == plain


def test_without_thinking_no_reasoning_goes_back() -> None:
    message = Assistant(**{**fields_of(REPLY), "id": "a"})
    body = rendered(message, without=frozenset({"thinking"}), options=Options(effort="high"))
    assert [item["type"] for item in body["input"]] == ["message", "function_call", "function_call"]
    assert not any("id" in item for item in body["input"])
    assert not body.keys() & {"include", "reasoning"}


def test_reasoning_that_the_server_did_not_keep_goes_back_only_with_its_content() -> None:
    bare = read(done(0, thought("x", encrypted="")) + done(1, said("hi")) + end())
    assert [item["type"] for item in replayed(bare)] == ["message"]


def test_items_that_wait_for_an_answer_of_ours_are_left_out() -> None:
    custom = {"type": "custom_tool_call", "call_id": "x1", "name": "n", "input": "i"}
    shell = [{"type": "shell_call", "call_id": "s1"}, {"type": "shell_call_output", "call_id": "s1"}]
    reply = read(
        b"".join(done(number, item) for number, item in enumerate([custom, *shell, said("hi")])) + end()
    )
    assert [item["type"] for item in replayed(reply)] == ["shell_call", "shell_call_output", "message"]


def test_what_an_endpoint_refused_is_left_out() -> None:
    seen = rendered(*LOG[:4], without=frozenset({"tool_images"}))["input"]
    assert (seen[4]["output"], seen[-1]["role"], seen[-1]["content"][1]["type"]) == (
        "{}",
        "user",
        "input_image",
    )
    blind = json.dumps(rendered(*LOG, without=frozenset({"images"}))["input"])
    assert "input_image" not in blind
    assert "image/png" in blind
    bare = rendered(
        LOG[0], without=frozenset({"effort", "limit"}), options=Options(effort="high", max_output=5)
    )
    assert not bare.keys() & {"reasoning", "max_output_tokens"}


def test_a_limit_is_sent_only_where_one_is_asked_for() -> None:
    capped = Request(endpoint=replace(ENDPOINT, max_output=9000), system="s", messages=LOG[:1])
    bodies = [
        json.loads(CodexResponses().render(replace(capped, options=Options(max_output=limit))).body)
        for limit in (None, 50)
    ]
    assert [body.get("max_output_tokens") for body in bodies] == [None, 50]


def test_what_a_provider_does_not_take_is_data() -> None:
    codex = Profile(family="gpt", thinking="effort", omits=frozenset({"max_output_tokens", "temperature"}))
    assert (
        not rendered(LOG[0], profile=codex, options=Options(max_output=5, temperature=1.0)).keys()
        & codex.omits
    )


def test_what_the_user_adds_is_in_the_body_and_does_not_replace_the_conversation() -> None:
    endpoint = Endpoint(
        provider="p",
        base_url="http://h/v1?api-version=1",
        model="m",
        extra_body={"prompt_cache_key": "k", "input": [], "store": True},
    )
    wire = CodexResponses().render(Request(endpoint=endpoint, system="", messages=LOG[:1]))
    body = json.loads(wire.body)
    assert (wire.url, body["prompt_cache_key"], body["store"], len(body["input"])) == (
        "http://h/v1/responses?api-version=1",
        "k",
        True,
        1,
    )


def test_a_message_is_written_anew_only_when_what_the_endpoint_takes_has_changed() -> None:
    transport = CodexResponses()
    request = Request(endpoint=ENDPOINT, system="s", messages=LOG)
    transport.render(request)
    kept = dict(transport._buffer._blocks)
    transport.render(replace(request, messages=(*LOG, User(id="u9", at=0.0, text="more"))))
    assert all(transport._buffer._blocks[name] is block for name, block in kept.items())
    assert b"input_image" not in transport.render(replace(request, without=frozenset({"images"}))).body
    assert b"input_image" in transport.render(request).body
