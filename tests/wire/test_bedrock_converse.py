import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.bedrock.transport import BedrockConverse
from hermes.types.message import Assistant, Thinking, ToolCall
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
from tests.wire.frames import event, fault, frame
from tests.wire.marks import unmarked

ENDPOINT = Endpoint(
    provider="bedrock", base_url="http://h", model="eu.anthropic.claude-x-v1:0", protocol="bedrock_converse", profile=CLAUDE, credential="top-secret", max_output=8000,
)  # fmt: skip
REQUEST = Request(endpoint=ENDPOINT, system="be good", messages=(user(1, "Hi"),), tools=TOOLS)


def piece(index: int, **delta: Any) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})


def begun(index: int, **start: Any) -> bytes:
    return event("contentBlockStart", {"contentBlockIndex": index, "start": start})


def ended(index: int) -> bytes:
    return event("contentBlockStop", {"contentBlockIndex": index})


def told(*blocks: bytes, stop: str = "end_turn", **usage: int) -> bytes:
    counts = {"inputTokens": 5, "outputTokens": 9, "totalTokens": 14, **usage}
    end = event("messageStop", {"stopReason": stop}) + event(
        "metadata", {"usage": counts, "metrics": {"latencyMs": 1}}
    )
    return event("messageStart", {"role": "assistant"}) + b"".join(blocks) + end


WHOLE = told(
    piece(0, reasoningContent={"text": "Let me "}), piece(0, reasoningContent={"text": "see. ü"}), piece(0, reasoningContent={"signature": "sig=="}), ended(0),
    piece(1, reasoningContent={"redactedContent": "b3BhcXVl"}), ended(1),
    piece(2, text="Grü"), piece(2, text="ße 🎉"), ended(2),
    begun(3, toolUse={"toolUseId": "tooluse_1", "name": "look"}), piece(3, toolUse={"input": '{"at": '}), piece(3, toolUse={"input": '"ä"}'}), ended(3),
    begun(4, toolUse={"toolUseId": "tooluse_2", "name": "run"}), ended(4),
    stop="tool_use", cacheReadInputTokens=100, cacheWriteInputTokens=20,
)  # fmt: skip
REPLY = Assistant(
    id="", at=0.0, text="Grüße 🎉", stop="calls", provider="bedrock", model="eu.anthropic.claude-x-v1:0", protocol="bedrock_converse", family="claude",
    thinking=(Thinking(text="Let me see. ü", signature="sig=="), Thinking(text="", signature="b3BhcXVl", redacted=True)),
    calls=(ToolCall(id="tooluse_1", name="look", arguments={"at": "ä"}, raw='{"at": "ä"}'), ToolCall(id="tooluse_2", name="run", arguments={})),
    usage=Usage(input_tokens=125, output_tokens=9, cache_read=100, cache_write=20, requests=1),
)  # fmt: skip
GROUNDED = told(
    piece(0, text="I search."), ended(0),
    begun(1, toolUse={"toolUseId": "srv_1", "name": "grounding", "type": "server_tool_use"}), piece(1, toolUse={"input": '{"q": 1}'}), ended(1),
    begun(2, toolResult={"toolUseId": "srv_1", "type": "grounding_result"}), piece(2, toolResult=[{"text": "found"}]), ended(2),
    piece(3, text="Tea."), piece(3, citation={"title": "T"}), ended(3),
)  # fmt: skip
GROUNDS = (
    {"text": "I search."},
    {"toolUse": {"toolUseId": "srv_1", "name": "grounding", "type": "server_tool_use", "input": {"q": 1}}},
    {"toolResult": {"toolUseId": "srv_1", "type": "grounding_result", "content": [{"text": "found"}]}},
    {"citationsContent": {"content": [{"text": "Tea."}], "citations": [{"title": "T"}]}},
)


def read(data: bytes, *cuts: int) -> Assistant:
    reader = BedrockConverse().reader(REQUEST)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(data)]):
        reader.feed(data[start:end])
    return reader.finish()


def deltas(data: bytes) -> list[Delta]:
    return BedrockConverse().reader(REQUEST).feed(data)


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    request = Request(
        endpoint=fields.pop("endpoint", ENDPOINT), system="be good", messages=messages, **fields
    )
    tree = json.loads(BedrockConverse().render(request).body)
    assert isinstance(tree, dict)
    return tree


def test_a_stream_becomes_one_whole_reply() -> None:
    assert read(WHOLE) == REPLY


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    assert read(WHOLE, *cuts) == REPLY


def test_a_whole_body_takes_the_same_road() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "Let me see. ü", "signature": "sig=="}}}, {"reasoningContent": {"redactedContent": "b3BhcXVl"}}, {"text": "Grüße 🎉"},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"at": "ä"}}}, {"toolUse": {"toolUseId": "tooluse_2", "name": "run", "input": {}}},
    ]  # fmt: skip
    usage = {
        "inputTokens": 5,
        "outputTokens": 9,
        "totalTokens": 14,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 20,
    }
    tree = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": usage,
    }
    found = read(json.dumps(tree, indent=1).encode(), 5, 99)
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
    found = read(GROUNDED)
    assert (found.text, found.opaque, found.calls, found.stop) == ("I search.Tea.", GROUNDS, (), "end")
    assert [delta.text for delta in deltas(GROUNDED) if isinstance(delta, Remark)] == [
        "The provider ran its own tool grounding.",
        "The reply holds an item of type toolResult, which goes back to the provider as it came.",
    ]
    kept = reply(1, found.text, opaque=found.opaque, protocol="bedrock_converse")
    assert body(user(1, "Tea?"), kept, user(2, "Ok"))["messages"][1]["content"] == list(GROUNDS)
    elsewhere = reply(1, found.text, opaque=found.opaque, protocol="anthropic_messages")
    assert body(user(1, "Tea?"), elsewhere, user(2, "Ok"))["messages"][1]["content"] == [
        {"text": "I search.Tea."}
    ]


def test_arguments_that_would_have_to_be_guessed_carry_a_fault() -> None:
    use = begun(0, toolUse={"toolUseId": "t", "name": "look"}) + piece(0, toolUse={"input": '{"at": 1'})
    (found,) = read(told(use, stop="tool_use")).calls
    assert (found.raw, "was not run" in found.fault) == ('{"at": 1', True)
    assert "cut by the output limit" in read(told(use, stop="max_tokens")).calls[0].fault


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"), ("stop_sequence", "end"), ("max_tokens", "length"), ("model_context_window_exceeded", "length"), ("guardrail_intervened", "refusal"),
        ("content_filtered", "refusal"), ("malformed_tool_use", "error"), ("unheard_of", "end"),
    ],
)  # fmt: skip
def test_stop_reasons_are_understood(reason: str, stop: str) -> None:
    assert read(told(piece(0, text="x"), stop=reason)).stop == stop


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("throttlingException", 429),
        ("serviceUnavailableException", 503),
        ("validationException", 400),
        ("oddException", None),
    ],
)
def test_an_error_inside_a_good_answer_is_an_error(code: str, status: int | None) -> None:
    with pytest.raises(WireError, match="Not now") as caught:
        read(event("messageStart", {"role": "assistant"}) + fault(code, "Not now"))
    assert (caught.value.status, caught.value.code) == (status, code)


def test_an_error_frame_is_an_error() -> None:
    with pytest.raises(WireError, match="Went wrong") as caught:
        read(
            frame(
                {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "Went wrong"},
                b"",
            )
        )
    assert caught.value.code == "InternalFailure"


@pytest.mark.parametrize("data", [b"", WHOLE[:-400], event("messageStart", {"role": "assistant"}), WHOLE[:5]])
def test_a_stream_that_ends_too_early_is_not_a_reply(data: bytes) -> None:
    with pytest.raises(CutShortError):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        b"<html>sorry, we are closed</html>",
        b"{}",
        b"{broken",
        b'{"message": "no"}',
        WHOLE[:60] + b"x" + WHOLE[61:],
    ],
)
def test_what_is_no_reply_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(BadReplyError):
        read(data)


@given(st.binary(max_size=200), st.integers(0, len(WHOLE)))
def test_no_bytes_whatever_break_the_reader_in_another_way(data: bytes, place: int) -> None:
    for form in (
        data,
        b"{" + data,
        WHOLE[:place] + data + WHOLE[place:],
        frame({":event-type": "contentBlockDelta"}, data),
    ):
        try:
            read(form)
        except (WireError, CutShortError, BadReplyError):
            continue


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "toolUse", "contentBlockIndex", "delta", "start", "reasoningContent", "citation", "input", "x"]), inner, max_size=4), max_leaves=12), st.sampled_from(["contentBlockStart", "contentBlockDelta", "messageStop", "metadata"]))  # fmt: skip
def test_no_event_whatever_breaks_the_reader_in_another_way(tree: Any, kind: str) -> None:
    try:
        read(event(kind, tree) + told())
        read(event(kind, {"delta": tree, "start": tree, "usage": tree}) + told())
    except (WireError, CutShortError, BadReplyError):
        return


def test_progress_counts_what_came() -> None:
    reader = BedrockConverse().reader(REQUEST)
    reader.feed(event("messageStart", {"role": "assistant"}) + piece(0, text="x")[:-1])
    assert (reader.progress, reader.usage) == (1, Usage(requests=1))


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_is_rendered_is_what_a_strict_server_takes(name: str) -> None:
    assert list(faults(body(*CONVERSATIONS[name], tools=TOOLS), "bedrock")) == []


def test_signed_reasoning_returns_to_its_family_only() -> None:
    log = CONVERSATIONS["tools in parallel, one of which failed, with a steering note"]
    thoughts = [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig="}}},
        {"reasoningContent": {"redactedContent": "xyzz"}},
    ]
    assert body(*log)["messages"][1]["content"][:2] == thoughts
    other = Endpoint(provider="p", base_url="http://h", model="m", profile=Profile(family="nova"))
    for tree in (body(*log, endpoint=other), body(*log, without=frozenset[LeftOut]({"thinking"}))):
        assert [next(iter(part)) for part in tree["messages"][1]["content"]] == ["text", "toolUse", "toolUse"]


def test_a_failed_result_says_so_and_a_note_rides_on_its_result() -> None:
    log = CONVERSATIONS["tools in parallel, one of which failed, with a steering note"]
    assert body(*log)["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "seen\n\n[While you were working: hurry]"}]}},
        {"toolResult": {"toolUseId": "c2", "content": [{"text": "no such thing"}], "status": "error"}},
    ]


def test_documents_have_names_that_the_wire_takes_and_that_differ() -> None:
    log = CONVERSATIONS["pictures and documents"]
    names = [part["document"]["name"] for part in body(*log)["messages"][0]["content"] if "document" in part]
    assert len(set(names)) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9 ()\[\]-]{1,200}", name) and "  " not in name for name in names)


def test_a_model_that_sees_no_images_is_told_that_there_was_one() -> None:
    log = (
        user(1, "Look", attachments=(image("a.png"),)),
        reply(1, calls=(call("c1"),)),
        result(1, "c1", "x", images=(image(),)),
    )
    tree = body(*log, without=frozenset[LeftOut]({"images"}))
    assert tree["messages"][0]["content"][1] == {
        "text": "[The file a.png (image/png) is left out: this model does not take it.]"
    }
    only_results = body(*log, without=frozenset[LeftOut]({"tool_images"}))["messages"]
    assert [
        "image" in only_results[0]["content"][1],
        "text" in only_results[2]["content"][0]["toolResult"]["content"][1],
    ] == [True, True]


@pytest.mark.parametrize(
    ("profile", "options", "expected"),
    [
        (CLAUDE, Options(), {"inferenceConfig": {"maxTokens": 8000}}),
        (CLAUDE, Options(temperature=0.5, max_output=100), {"inferenceConfig": {"maxTokens": 100, "temperature": 0.5}}),
        (CLAUDE, Options(temperature=0.5, effort="low"), {"inferenceConfig": {"maxTokens": 8000}, "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 4096}}}),
        (Profile(thinking="adaptive"), Options(effort="high"), {"inferenceConfig": {"maxTokens": 8000}, "additionalModelRequestFields": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}}),
        (Profile(omits=frozenset({"temperature"}), fixed={"top_p": 0.9, "top_k": 5}), Options(temperature=0.5), {"inferenceConfig": {"maxTokens": 8000, "topP": 0.9}, "additionalModelRequestFields": {"top_k": 5}}),
    ],
)  # fmt: skip
def test_parameters_are_those_of_the_profile(
    profile: Profile, options: Options, expected: dict[str, Any]
) -> None:
    extra = {"inferenceConfig": {"stopSequences": ["x"]}, "requestMetadata": {"a": "b"}}
    endpoint = Endpoint(
        provider="p", base_url="http://h", model="m", profile=profile, max_output=8000, extra_body=extra
    )
    tree = body(user(1, "Hi"), endpoint=endpoint, options=options)
    whole = {
        **expected,
        "inferenceConfig": {**expected["inferenceConfig"], "stopSequences": ["x"]},
        "requestMetadata": {"a": "b"},
        "system": [{"text": "be good"}],
    }
    assert {name: value for name, value in tree.items() if name != "messages"} == whole


def test_calls_of_earlier_steps_stay_defined_where_no_tools_are_offered() -> None:
    log = (user(1, "x"), reply(1, calls=(call("c1"),)), result(1, "c1", "y"))
    assert [tool["toolSpec"]["name"] for tool in body(*log)["toolConfig"]["tools"]] == ["look"]
    assert "toolConfig" not in body(user(1, "x"))


@pytest.mark.parametrize(
    ("cache", "point"), [("5m", {"type": "default"}), ("1h", {"type": "default", "ttl": "1h"})]
)
def test_the_system_prompt_and_the_last_three_messages_end_in_cache_points(
    cache: Any, point: dict[str, str]
) -> None:
    log = (
        user(1, "a"),
        reply(1, "b"),
        user(2, "c"),
        reply(2, calls=(call("c1"), call("c2"))),
        result(1, "c1", "d"),
        result(2, "c2", "e"),
    )
    tree = body(*log, options=Options(cache=cache))
    ends = [message["content"][-1] == {"cachePoint": point} for message in tree["messages"]]
    assert (tree["system"][-1], ends, str(tree).count("cachePoint")) == (
        {"cachePoint": point},
        [False, False, True, True, True],
        4,
    )


@pytest.mark.parametrize("cache", ["", "5m", "1h"])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_longer_request_begins_with_the_bytes_of_the_one_before(name: str, cache: Any) -> None:
    transport, log = BedrockConverse(), CONVERSATIONS[name]
    requests = [
        Request(endpoint=ENDPOINT, system="s", messages=log[:end], tools=TOOLS, options=Options(cache=cache))
        for end in range(1, len(log) + 1)
    ]
    bodies = [unmarked(transport.render(request).body).removesuffix(b"]}") for request in requests]
    assert all(later.startswith(earlier.removesuffix(b"]}")) for earlier, later in itertools.pairwise(bodies))


def test_the_model_is_in_the_address_and_the_key_in_a_header() -> None:
    wire = BedrockConverse().render(REQUEST)
    assert wire.url == "http://h/model/eu.anthropic.claude-x-v1%3A0/converse-stream"
    assert (wire.headers["authorization"], "top-secret" in repr(wire)) == ("Bearer top-secret", False)
    arn = Endpoint(
        provider="p",
        base_url="http://h/",
        model="arn:aws:bedrock:eu:1:profile/x",
        auth="aws",
        credential="{}",
    )
    unsigned = BedrockConverse().render(Request(endpoint=arn, system="", messages=()))
    assert (unsigned.url, "authorization" in unsigned.headers) == (
        "http://h/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Fx/converse-stream",
        False,
    )
