import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.transports.anthropic.transport import AnthropicMessages
from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.types.message import Assistant, Attachment, Thinking, ToolCall
from hermes.types.profile import Profile
from hermes.types.request import (
    CallStarted,
    Delta,
    Endpoint,
    LeftOut,
    Options,
    Remark,
    Request,
    Text,
    ThinkingText,
)
from hermes.types.usage import Usage
from tests.wire.conversations import CLAUDE, CONVERSATIONS, TOOLS, call, faults, image, reply, result, user
from tests.wire.marks import unmarked

ENDPOINT = Endpoint(
    provider="anthropic", base_url="http://h", model="claude-x", protocol="anthropic_messages", profile=CLAUDE, auth="x-api-key", credential="secret",
    headers={"X-Extra": "1"}, max_output=8000,
)  # fmt: skip
REQUEST = Request(endpoint=ENDPOINT, system="be good", messages=(user(1, "Hi"),), tools=TOOLS)


def told(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def started(**usage: int) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    return {
        "type": "message_start",
        "message": {**message, "usage": {"input_tokens": 5, "output_tokens": 1, **usage}},
    }


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *pieces,
        {"type": "content_block_stop", "index": index},
    ]


def stopped(reason: str, **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9, **usage}},
        {"type": "message_stop"},
    ]


def said(text: str) -> list[dict[str, Any]]:
    return block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


WHOLE = told(
    started(cache_read_input_tokens=100, cache_creation_input_tokens=20),
    {"type": "ping"},
    *block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "Let me "}, {"type": "thinking_delta", "thinking": "see. ü"}, {"type": "signature_delta", "signature": "sig=="}),
    *block(1, {"type": "redacted_thinking", "data": "opaque=="}),
    *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Grü"}, {"type": "text_delta", "text": "ße 🎉"}),
    *block(3, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}, {"type": "input_json_delta", "partial_json": ""}, {"type": "input_json_delta", "partial_json": '{"at": '}, {"type": "input_json_delta", "partial_json": '"ä"}'}),
    *block(4, {"type": "tool_use", "id": "toolu_2", "name": "run", "input": {}}),
    *stopped("tool_use", output_tokens_details={"thinking_tokens": 4}),
)  # fmt: skip
REPLY = Assistant(
    id="", at=0.0, text="Grüße 🎉", stop="calls", provider="anthropic", model="claude-x", protocol="anthropic_messages", family="claude",
    thinking=(Thinking(text="Let me see. ü", signature="sig=="), Thinking(text="", signature="opaque==", redacted=True)),
    calls=(ToolCall(id="toolu_1", name="look", arguments={"at": "ä"}, raw='{"at": "ä"}'), ToolCall(id="toolu_2", name="run", arguments={})),
    usage=Usage(input_tokens=125, output_tokens=9, cache_read=100, cache_write=20, reasoning=4, requests=1),
)  # fmt: skip
SEARCH = told(
    started(),
    *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I search."}),
    *block(1, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}, {"type": "input_json_delta", "partial_json": '{"query": "tea"}'}),
    *block(2, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "title": "T", "url": "http://t", "encrypted_content": "e", "page_age": None}]}),
    *block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Tea is "}, {"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "http://t", "title": "T", "encrypted_index": "i", "cited_text": "c"}}, {"type": "text_delta", "text": "good."}),
    *block(4, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}, {"type": "input_json_delta", "partial_json": '{"at": 1}'}),
    *stopped("tool_use"),
)  # fmt: skip
SEARCHED = (
    {"type": "text", "text": "I search."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "title": "T", "url": "http://t", "encrypted_content": "e", "page_age": None}]},
    {"type": "text", "text": "Tea is good.", "citations": [{"type": "web_search_result_location", "url": "http://t", "title": "T", "encrypted_index": "i", "cited_text": "c"}]},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}},
)  # fmt: skip


def read(data: bytes, *cuts: int) -> Assistant:
    reader = AnthropicMessages().reader(REQUEST)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(data)]):
        reader.feed(data[start:end])
    return reader.finish()


def deltas(data: bytes) -> list[Delta]:
    return AnthropicMessages().reader(REQUEST).feed(data)


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    request = Request(
        endpoint=fields.pop("endpoint", ENDPOINT), system="be good", messages=messages, **fields
    )
    tree = json.loads(AnthropicMessages().render(request).body)
    assert isinstance(tree, dict)
    return tree


def test_a_stream_becomes_one_whole_reply() -> None:
    assert read(WHOLE) == REPLY


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    assert read(WHOLE, *cuts) == REPLY


def test_a_whole_body_takes_the_same_road() -> None:
    tree = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Let me see. ü", "signature": "sig=="}, {"type": "redacted_thinking", "data": "opaque=="}, {"type": "text", "text": "Grüße 🎉"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "ä"}}, {"type": "tool_use", "id": "toolu_2", "name": "run", "input": {}},
        ],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
    }  # fmt: skip
    found = read(json.dumps(tree, indent=1, ensure_ascii=False).encode(), 3, 77)
    assert (found.text, found.thinking, found.stop, found.usage) == (
        REPLY.text,
        REPLY.thinking,
        REPLY.stop,
        REPLY.usage,
    )
    assert [(one.id, one.arguments) for one in found.calls] == [
        (one.id, one.arguments) for one in REPLY.calls
    ]


def test_deltas_come_as_they_are_written_and_pieces_that_arrive_together_are_merged() -> None:
    assert deltas(WHOLE) == [
        ThinkingText(text="Let me see. ü"),
        Text(text="Grüße 🎉"),
        CallStarted(name="look"),
        CallStarted(name="run"),
    ]


def test_what_the_provider_did_by_itself_is_kept_in_order_told_once_and_sent_back_as_it_came() -> None:
    found = read(SEARCH)
    assert (found.text, found.opaque, [one.arguments for one in found.calls]) == (
        "I search.Tea is good.",
        SEARCHED,
        [{"at": 1}],
    )
    assert [delta.text for delta in deltas(SEARCH) if isinstance(delta, Remark)] == [
        "The provider ran its own tool web_search.",
        "The reply holds an item of type web_search_tool_result, which goes back to the provider as it came.",
    ]
    kept = reply(1, found.text, calls=found.calls, opaque=found.opaque)
    answered = result(1, "toolu_1", "seen")
    assert body(user(1, "Tea?"), kept, answered)["messages"][1]["content"] == list(SEARCHED)
    elsewhere = Endpoint(
        provider="p",
        base_url="http://h",
        model="m",
        protocol="anthropic_messages",
        profile=Profile(family="glm"),
    )
    assert body(user(1, "Tea?"), kept, answered, endpoint=elsewhere)["messages"][1]["content"] == [
        {"type": "text", "text": "I search.Tea is good."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}},
    ]


def test_calls_that_were_dropped_from_a_reply_are_dropped_from_its_kept_items_too() -> None:
    kept = reply(1, "x", calls=(call("toolu_2", at=2),), opaque=({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}, {"type": "text", "text": ""}, {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"at": 1}}))  # fmt: skip
    assert body(user(1, "Go"), kept, result(1, "toolu_2", "y"))["messages"][1]["content"] == [
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"at": 2}}
    ]


def test_what_a_block_says_beyond_what_a_message_holds_goes_back_with_it() -> None:
    direct = {"type": "tool_use", "id": "t", "name": "look", "input": {}, "caller": {"type": "direct"}}
    assert read(told(started(), *block(0, direct), *stopped("tool_use"))).opaque == ()
    by_code = {**direct, "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
    found = read(
        told(
            started(),
            *block(0, by_code, {"type": "input_json_delta", "partial_json": '{"at": 1}'}),
            *stopped("tool_use"),
        )
    )
    kept = reply(1, calls=found.calls, opaque=found.opaque)
    assert body(user(1, "Go"), kept, result(1, "t", "y"))["messages"][1]["content"] == [
        {**by_code, "input": {"at": 1}}
    ]


def test_interleaved_reasoning_keeps_its_place() -> None:
    found = read(told(started(), *said("a"), *block(1, {"type": "thinking", "thinking": "b", "signature": "s"}), *block(2, {"type": "text", "text": "c"}), *stopped("end_turn")))  # fmt: skip
    assert [item["type"] for item in found.opaque] == ["text", "thinking", "text"]
    assert (found.text, found.thinking) == ("ac", (Thinking(text="b", signature="s"),))


def test_a_reply_with_calls_stops_for_them_whatever_the_server_says() -> None:
    use = block(0, {"type": "tool_use", "id": "t", "name": "look", "input": {"at": 1}})
    assert (
        read(told(started(), *use, *stopped("end_turn"))).stop,
        read(told(started(), *use, *stopped("refusal"))).stop,
    ) == (
        "calls",
        "refusal",
    )


@pytest.mark.parametrize("arguments", ['{"at": 1', "[1]"])
def test_arguments_that_would_have_to_be_guessed_carry_a_fault(arguments: str) -> None:
    use = block(
        0,
        {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        {"type": "input_json_delta", "partial_json": arguments},
    )
    (found,) = read(told(started(), *use, *stopped("tool_use"))).calls
    assert (found.raw, "was not run" in found.fault) == (arguments, True)
    assert "cut by the output limit" in read(told(started(), *use, *stopped("max_tokens"))).calls[0].fault


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"), ("stop_sequence", "end"), ("pause_turn", "end"), ("max_tokens", "length"), ("refusal", "refusal"),
        ("model_context_window_exceeded", "length"), ("unheard_of", "end"),
    ],
)  # fmt: skip
def test_stop_reasons_are_understood(reason: str, stop: str) -> None:
    assert read(told(started(), *said("x"), *stopped(reason))).stop == stop


@pytest.mark.parametrize(
    ("code", "status"),
    [("overloaded_error", 529), ("rate_limit_error", 429), ("api_error", 500), ("odd_error", None)],
)
def test_an_error_inside_a_good_answer_is_an_error(code: str, status: int | None) -> None:
    error = {"type": "error", "error": {"type": code, "message": "Not now"}}
    for data in (told(started(), *said("x")[:2], error), json.dumps(error).encode()):
        with pytest.raises(WireError, match="Not now") as caught:
            read(data)
        assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b": ping\n\n",
        b"event: ping\n",
        told(started(), *said("half")),
        told(started(), *said("x"), stopped("end_turn")[0]),
    ],
)
def test_a_stream_that_ends_too_early_is_not_a_reply(data: bytes) -> None:
    with pytest.raises(CutShortError):
        read(data)


@pytest.mark.parametrize(
    "data",
    [b"<html>sorry</html>", b"{}", b"{broken", b'{"content": "x"}', b"data: nonsense\n\n", b"data: [1]\n\n"],
)
def test_what_is_no_reply_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(BadReplyError):
        read(data)


@given(st.binary(max_size=200))
def test_no_bytes_whatever_break_the_reader_in_another_way(data: bytes) -> None:
    for form in (data, b"data: " + data + b"\n\n", b"{" + data):
        try:
            read(form)
        except (WireError, CutShortError, BadReplyError):
            continue


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "index", "delta", "usage", "error", "content_block", "message", "text", "input"]), inner, max_size=4), max_leaves=12), st.sampled_from(["message_start", "content_block_start", "content_block_delta", "message_delta", "error"]))  # fmt: skip
def test_no_event_whatever_breaks_the_reader_in_another_way(tree: Any, kind: str) -> None:
    try:
        read(told({**(tree if isinstance(tree, dict) else {"delta": tree}), "type": kind}))
    except (WireError, CutShortError, BadReplyError):
        return


def test_usage_and_progress_are_right_while_the_stream_runs() -> None:
    reader = AnthropicMessages().reader(REQUEST)
    assert (reader.usage, reader.progress) == (Usage(requests=1), 0)
    reader.feed(told({"type": "ping"}, started(cache_read_input_tokens=7)))
    assert (reader.usage, reader.progress) == (
        Usage(input_tokens=12, output_tokens=1, cache_read=7, requests=1),
        1,
    )


def test_lone_surrogates_end_nothing() -> None:
    data = told(started(), *said("XX"), *stopped("end_turn")).replace(b"XX", b"a\\ud83d")
    assert read(data).text == "a\ufffd"
    assert (
        "\ufffd"
        in AnthropicMessages()
        .render(Request(endpoint=ENDPOINT, system="s", messages=(user(1, "a\ud83d"),)))
        .body.decode()
    )


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_is_rendered_is_what_a_strict_server_takes(name: str) -> None:
    assert list(faults(body(*CONVERSATIONS[name], tools=TOOLS), "anthropic")) == []


def test_signed_reasoning_returns_to_its_family_only() -> None:
    log = CONVERSATIONS["tools in parallel, one of which failed, with a steering note"]
    thoughts = [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig="},
        {"type": "redacted_thinking", "data": "xyzz"},
    ]
    assert body(*log)["messages"][1]["content"][:2] == thoughts
    from_bedrock = (
        log[0],
        reply(1, "I will.", thinking=log[1].thinking, protocol="bedrock_converse"),  # type: ignore[union-attr]
        user(2, "x"),
    )
    assert body(*from_bedrock)["messages"][1]["content"][:2] == thoughts
    other = Endpoint(provider="p", base_url="http://h", model="m", profile=Profile(family="glm"))
    for tree in (body(*log, endpoint=other), body(*log, without=frozenset[LeftOut]({"thinking"}))):
        assert [part["type"] for part in tree["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]


def test_a_model_that_sees_no_images_is_told_that_there_was_one() -> None:
    blind = Endpoint(provider="p", base_url="http://h", model="m", profile=Profile(vision=False))
    log = (
        user(1, "Look", attachments=(image("a.png"),)),
        reply(1, calls=(call("c1"),)),
        result(1, "c1", "x", images=(image(),)),
    )
    for tree in (body(*log, endpoint=blind), body(*log, without=frozenset[LeftOut]({"images"}))):
        assert (
            tree["messages"][0]["content"][1]["text"]
            == "[The file a.png (image/png) is left out: this model does not take it.]"
        )
        assert (
            tree["messages"][2]["content"][0]["content"][1]["text"]
            == "[The file (image/png) is left out: this model does not take it.]"
        )
    only_results = body(*log, without=frozenset[LeftOut]({"tool_images"}))["messages"]
    assert [only_results[0]["content"][1]["type"], only_results[2]["content"][0]["content"][1]["type"]] == [
        "image",
        "text",
    ]


def test_an_id_that_two_messages_use_is_made_two() -> None:
    log = (user(1, "a"), reply(1, calls=(call("call_0"),)), result(1, "call_0", "1"), reply(2, calls=(call("call_0"),)), result(2, "call_0", "2"))  # fmt: skip
    messages = body(*log)["messages"]
    first, second = messages[1]["content"][0]["id"], messages[3]["content"][0]["id"]
    assert (first, first != second) == ("call_0", True)
    assert (messages[2]["content"][0]["tool_use_id"], messages[4]["content"][0]["tool_use_id"]) == (
        first,
        second,
    )


@pytest.mark.parametrize(
    ("profile", "options", "without", "expected"),
    [
        (CLAUDE, Options(), (), {"max_tokens": 8000}),
        (CLAUDE, Options(temperature=0.5, max_output=100), (), {"max_tokens": 100, "temperature": 0.5}),
        (CLAUDE, Options(temperature=0.5), ("temperature",), {"max_tokens": 8000}),
        (CLAUDE, Options(temperature=0.5, effort="low"), (), {"max_tokens": 8000, "thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (CLAUDE, Options(max_output=1000, effort="low"), (), {"max_tokens": 5096, "thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (CLAUDE, Options(effort="max"), (), {"max_tokens": 8000, "thinking": {"type": "enabled", "budget_tokens": 6000}}),
        (CLAUDE, Options(max_output=100, effort="minimal"), (), {"max_tokens": 1124, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (CLAUDE, Options(effort="none", temperature=1.0), (), {"max_tokens": 8000, "temperature": 1.0}),
        (CLAUDE, Options(effort="high"), ("effort",), {"max_tokens": 8000}),
        (Profile(thinking="adaptive", efforts=("low", "high")), Options(effort="max"), (), {"max_tokens": 8000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        (Profile(thinking="adaptive"), Options(effort="none"), (), {"max_tokens": 8000, "thinking": {"type": "disabled"}}),
        (Profile(), Options(effort="high"), (), {"max_tokens": 8000}),
        (Profile(omits=frozenset({"temperature"}), fixed={"top_p": 0.9}), Options(temperature=0.5), (), {"max_tokens": 8000, "top_p": 0.9}),
    ],
)  # fmt: skip
def test_parameters_are_those_of_the_profile(
    profile: Profile, options: Options, without: tuple[LeftOut, ...], expected: dict[str, Any]
) -> None:
    endpoint = Endpoint(
        provider="p",
        base_url="http://h",
        model="m",
        profile=profile,
        max_output=8000,
        extra_body={"service_tier": "auto"},
    )
    tree = body(user(1, "Hi"), endpoint=endpoint, options=options, without=frozenset(without))
    fixed = {
        "model": "m",
        "stream": True,
        "system": [{"type": "text", "text": "be good"}],
        "service_tier": "auto",
    }
    assert {name: value for name, value in tree.items() if name != "messages"} == {**fixed, **expected}


@pytest.mark.parametrize(
    ("window", "cap", "limit"),
    [
        (9000, None, 3000),
        (1_000_000, None, 32_000),
        (1_000_000, 128_000, 32_000),
        (9000, 128_000, 3000),
        (9000, 500, 500),
    ],
)
def test_without_a_limit_a_reply_may_take_a_third_of_the_window_and_never_more_than_the_model_gives(
    window: int, cap: int | None, limit: int
) -> None:
    endpoint = Endpoint(provider="p", base_url="http://h", model="m", context_window=window, max_output=cap)
    assert body(user(1, "x"), endpoint=endpoint)["max_tokens"] == limit


def test_a_tool_loop_that_began_without_reasoning_goes_on_without_until_the_next_user() -> None:
    began = (
        user(1, "x"),
        reply(1, calls=(call("c1"),), family="gpt", protocol="chat_completions"),
        result(1, "c1", "y"),
    )
    thought = (
        user(1, "x"),
        reply(1, thinking=(Thinking(text="Hm.", signature="s"),), calls=(call("c1"),)),
        result(1, "c1", "y"),
    )
    later = (*thought, reply(2, calls=(call("c2"),)), result(2, "c2", "z"))
    after = (*began, reply(2, "done"), user(2, "And?"))
    asked = [
        ("thinking" in body(*log, options=Options(effort="low"))) for log in (began, thought, later, after)
    ]
    assert asked == [False, True, True, True]


def test_where_there_is_no_room_for_reasoning_none_is_asked_for() -> None:
    small = Endpoint(provider="p", base_url="http://h", model="m", profile=CLAUDE, max_output=1000)
    tree = body(user(1, "x"), endpoint=small, options=Options(effort="high"))
    assert (tree["max_tokens"], "thinking" in tree) == (1000, False)


def test_tools_are_told_and_calls_of_earlier_steps_stay_defined_where_none_are_offered() -> None:
    look = {
        "name": "look",
        "description": "Look.",
        "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
    }
    run = {
        "name": "run",
        "description": "Run.",
        "strict": True,
        "input_schema": {"type": "object", "properties": {}},
    }
    assert body(user(1, "x"), tools=TOOLS)["tools"] == [look, run]
    assert body(user(1, "x"), tools=TOOLS, without=frozenset[LeftOut]({"strict"}))["tools"][1] == {
        key: value for key, value in run.items() if key != "strict"
    }
    log = (user(1, "x"), reply(1, calls=(call("c1"),)), result(1, "c1", "y"))
    tree = body(*log)
    assert ([tool["name"] for tool in tree["tools"]], tree["tool_choice"]) == (["look"], {"type": "none"})


@pytest.mark.parametrize(
    ("cache", "mark"), [("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"})],
)  # fmt: skip
def test_the_system_prompt_and_the_last_three_messages_carry_marks(cache: Any, mark: dict[str, str]) -> None:
    log = (
        user(1, "a"),
        reply(1, "b"),
        user(2, "c"),
        reply(2, calls=(call("c1"), call("c2"))),
        result(1, "c1", "d"),
        result(2, "c2", "e"),
    )
    request = Request(endpoint=ENDPOINT, system="s", messages=log, tools=TOOLS, options=Options(cache=cache))
    tree = json.loads(AnthropicMessages().render(request).body)
    marked = [(number, place) for number, message in enumerate(tree["messages"]) for place, part in enumerate(message["content"]) if part.get("cache_control") == mark]  # fmt: skip
    assert (tree["system"][0]["cache_control"], marked) == (mark, [(2, 0), (3, 1), (4, 1)])
    assert str(tree).count("cache_control") == 4


def test_marks_are_left_off_where_they_are_not_taken() -> None:
    unmarkable = Endpoint(provider="p", base_url="http://h", model="m")
    for request in (
        Request(endpoint=unmarkable, system="s", messages=(user(1, "a"),), options=Options(cache="5m")),
        Request(
            endpoint=ENDPOINT,
            system="s",
            messages=(user(1, "a"),),
            options=Options(cache="5m"),
            without=frozenset({"cache_marks"}),
        ),
        Request(endpoint=ENDPOINT, system="s", messages=(user(1, "a"),)),
    ):
        assert b"cache_control" not in AnthropicMessages().render(request).body


@pytest.mark.parametrize("cache", ["", "5m", "1h"])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_longer_request_begins_with_the_bytes_of_the_one_before(name: str, cache: Any) -> None:
    transport, log = AnthropicMessages(), CONVERSATIONS[name]
    requests = [
        Request(endpoint=ENDPOINT, system="s", messages=log[:end], tools=TOOLS, options=Options(cache=cache))
        for end in range(1, len(log) + 1)
    ]
    bodies = [unmarked(transport.render(request).body).removesuffix(b"]}") for request in requests]
    assert all(later.startswith(earlier.removesuffix(b"]}")) for earlier, later in itertools.pairwise(bodies))


def test_messages_are_encoded_anew_when_the_endpoint_has_refused_a_part_of_them() -> None:
    transport, smaller = AnthropicMessages(), Attachment(media_type="image/png", data="AA==")
    request = Request(endpoint=ENDPOINT, system="s", messages=(user(1, "Look", attachments=(image(),)),))
    transport.render(request)
    again = replace(
        request,
        messages=(user(1, "Look", attachments=(smaller,)),),
        without=frozenset[LeftOut]({"large_images"}),
    )
    assert json.loads(transport.render(again).body)["messages"][0]["content"][1]["source"]["data"] == "AA=="


def test_what_a_user_adds_does_not_make_it_another_request() -> None:
    endpoint = replace(
        ENDPOINT, extra_body={"model": "x", "messages": [], "stream": False, "service_tier": "auto"}
    )
    tree = body(user(1, "Hi"), endpoint=endpoint)
    assert (tree["model"], tree["stream"], len(tree["messages"]), tree["service_tier"]) == (
        "claude-x",
        True,
        1,
        "auto",
    )


def test_a_message_is_encoded_once_even_when_the_history_before_it_changes() -> None:
    transport = AnthropicMessages()
    first = Request(endpoint=ENDPOINT, system="s", messages=(user(1, "One"), user(2, "Two")))
    transport.render(first)
    shorter = replace(first, messages=(user(2, "known by its id and not read again"),))
    assert json.loads(transport.render(shorter).body)["messages"][0]["content"][0]["text"] == "Two"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://h/v1/", "https://h/v1/messages"),
        ("https://h/anthropic", "https://h/anthropic/v1/messages"),
    ],
)
def test_the_address_is_completed_whatever_it_ends_in(base_url: str, url: str) -> None:
    endpoint = Endpoint(provider="p", base_url=base_url, model="m")
    assert AnthropicMessages().render(Request(endpoint=endpoint, system="", messages=())).url == url


@pytest.mark.parametrize(
    ("auth", "credential", "headers", "expected"),
    [
        ("x-api-key", "top-secret", {}, {"x-api-key": "top-secret"}),
        ("api-key", "top-secret", {}, {"api-key": "top-secret"}),
        ("bearer", "top-secret", {}, {"authorization": "Bearer top-secret"}),
        ("bearer", "sk-ant-oat01-x", {"Anthropic-Beta": "b-1"}, {"authorization": "Bearer sk-ant-oat01-x", "anthropic-beta": "b-1,oauth-2025-04-20"}),
        ("bearer", "", {}, {}),
    ],
)  # fmt: skip
def test_a_credential_travels_as_the_endpoint_says_and_is_in_no_representation(
    auth: Any, credential: str, headers: dict[str, str], expected: dict[str, str]
) -> None:
    endpoint = Endpoint(
        provider="p", base_url="http://h", model="m", auth=auth, credential=credential, headers=headers
    )
    wire = AnthropicMessages().render(Request(endpoint=endpoint, system="", messages=()))
    common = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "anthropic-version": "2023-06-01",
    }
    assert dict(wire.headers) == {**common, **expected}
    assert not credential or credential not in repr(wire) + repr(endpoint)
