"""The official client as a judge: the same conversation gives the same request, the same stream the same message."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from pydantic import TypeAdapter

from hermes.models.transports.anthropic.transport import AnthropicMessages
from hermes.types.message import Assistant
from hermes.types.request import Options, Request
from tests.wire.conversations import CONVERSATIONS, PDF, PNG, TOOLS
from tests.wire.recorder import Recorder, recording
from tests.wire.test_anthropic_messages import (
    ENDPOINT,
    REQUEST,
    SEARCH,
    WHOLE,
    block,
    read,
    said,
    started,
    stopped,
    told,
)

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message as TheirMessage

pytestmark = pytest.mark.xdist_group(
    "official clients"
)  # imported late and by one process: they take seconds

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def answer(call_id: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content), **fields}


THEIRS: dict[str, list[tuple[str, list[dict[str, Any]]]]] = {
    "words": [("user", [text("Hi")]), ("assistant", [text("Hello, ü 🎉")]), ("user", [text("<memory>tea</memory>\n\nGo on")])],
    "tools in parallel, one of which failed, with a steering note": [
        ("user", [text("Look twice")]),
        ("assistant", [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig="}, {"type": "redacted_thinking", "data": "xyzz"},
            text("I will."), use("c1", at="a"), use("c2", "run"),
        ]),
        ("user", [answer("c1", text("seen\n\n[While you were working: hurry]")), answer("c2", text("no such thing"), is_error=True)]),
    ],
    "pictures and documents": [
        ("user", [
            text("What is this?"), PICTURE,
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}, "title": "My report (final).pdf"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "buy milk"}},
        ]),
        ("assistant", [use("c1", at="b")]),
        ("user", [answer("c1", PICTURE)]),
    ],
    "an interrupted reply that says nothing": [
        ("user", [text("Look")]), ("assistant", [use("c1")]), ("user", [answer("c1", text("(no output)")), text("(no text)")]),
    ],
    "a compaction, and ids and names of other wires": [
        ("user", [text("Before, there was talk.")]),
        ("assistant", [use("functions_look_0_1", "look"), use("ok", "look_at")]),
        ("user", [answer("functions_look_0_1", text("1")), answer("ok", text("2"))]),
        ("assistant", [use("ok_2")]),
        ("user", [answer("ok_2", text("3"))]),
    ],
    "a beginning without a user": [
        ("user", [text("(What was said before this is not shown.)")]), ("assistant", [text("I was here first.")]), ("user", [text("Indeed")]),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Recorder]:
    with recording(told(started(), *said("ok"), *stopped("end_turn")), "text/event-stream") as recorder:
        yield recorder


@pytest.fixture(scope="module")
def client(server: Recorder) -> "Iterator[Anthropic]":
    import anthropic

    with anthropic.Anthropic(base_url=server.address, api_key="secret", max_retries=0) as client:
        yield client


def rendered(name: str, **fields: Any) -> dict[str, Any]:
    tree = json.loads(
        AnthropicMessages()
        .render(
            Request(endpoint=ENDPOINT, system="be good", messages=CONVERSATIONS[name], tools=TOOLS, **fields)
        )
        .body
    )
    assert isinstance(tree, dict)
    return tree


def made_ids(tree: Any) -> dict[str, str]:
    """Ids that were made stand in order of appearance for those written by hand."""
    found = [
        part["id"]
        for message in tree["messages"]
        for part in message["content"]
        if part["type"] == "tool_use"
    ]
    return {
        ours: theirs
        for ours, theirs in zip(found, ["functions_look_0_1", "ok", "ok_2"], strict=False)
        if len(found) == 3
    }


def sent_by_them(client: "Anthropic", server: Recorder, name: str, **fields: Any) -> dict[str, Any]:
    messages: Any = [{"role": role, "content": content} for role, content in THEIRS[name]]
    tools: Any = [
        {"name": tool["function"]["name"], "description": tool["function"]["description"], "input_schema": tool["function"]["parameters"]} | ({"strict": True} if tool["function"].get("strict") else {})
        for tool in TOOLS
    ]  # fmt: skip
    system = fields.pop("system", [{"type": "text", "text": "be good"}])
    with client.messages.stream(
        model="claude-x", max_tokens=8000, system=system, messages=messages, tools=tools, **fields
    ) as stream:
        stream.until_done()
    tree = json.loads(server.requests[-1][1])
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_conversation_gives_the_same_request(
    client: "Anthropic", server: Recorder, name: str
) -> None:
    ours = rendered(name)
    written = json.dumps(ours)
    for made, by_hand in made_ids(ours).items():
        written = written.replace(f'"{made}"', f'"{by_hand}"')
    assert json.loads(written) == sent_by_them(client, server, name)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_requests_are_of_the_types_that_the_client_declares(name: str) -> None:
    tree = rendered(name, options=Options(cache="1h"))
    from anthropic.types import MessageParam, ToolParam

    TypeAdapter(list[MessageParam]).validate_python(tree["messages"])
    TypeAdapter(list[ToolParam]).validate_python(tree["tools"])


def test_parameters_address_and_headers_are_those_that_the_client_sends(
    client: "Anthropic", server: Recorder
) -> None:
    theirs = sent_by_them(client, server, "words", thinking={"type": "enabled", "budget_tokens": 4096})
    assert rendered("words", options=Options(effort="low")) == theirs
    wire = AnthropicMessages().render(replace(REQUEST, endpoint=replace(ENDPOINT, auth="bearer")))
    assert {name: wire.headers[name] for name in ("authorization", "content-type")} == {
        name: server.headers[-1][name] for name in ("authorization", "content-type")
    }
    assert ("anthropic-version" in server.headers[-1], wire.url.removeprefix("http://h")) == (
        True,
        server.requests[-1][0],
    )


def ours_and_theirs(data: bytes) -> "tuple[Assistant, TheirMessage]":
    import anthropic

    with (
        recording(data, "text/event-stream") as recorder,
        anthropic.Anthropic(base_url=recorder.address, api_key="x", max_retries=0) as client,
        client.messages.stream(
            model="claude-x", max_tokens=1, messages=[{"role": "user", "content": "x"}]
        ) as stream,
    ):
        return read(data), stream.get_final_message()


def content_of(reply: Assistant) -> list[dict[str, Any]]:
    """A reply as the request that follows it would send it."""
    request = Request(endpoint=ENDPOINT, system="", messages=(*REQUEST.messages, reply))
    content: list[dict[str, Any]] = json.loads(AnthropicMessages().render(request).body)["messages"][1][
        "content"
    ]
    return content


STREAMS = {
    "all kinds of blocks": WHOLE,
    "a search of the provider's own": SEARCH,
    "a refusal": told(started(), *said("No."), *stopped("refusal")),
    "cut by length": told(started(), *said("So"), *stopped("max_tokens")),
    "two texts": told(
        started(),
        *said("One. "),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Two."}),
        *stopped("end_turn"),
    ),
    "a late count": told(
        started(), *said("x"), *stopped("end_turn", input_tokens=50, cache_read_input_tokens=3)
    ),
}
STOPS = {"end_turn": "end", "tool_use": "calls", "max_tokens": "length", "refusal": "refusal"}


@pytest.mark.parametrize("name", STREAMS)
def test_the_same_stream_gives_the_same_message(name: str) -> None:
    ours, theirs = ours_and_theirs(STREAMS[name])
    blocks = [part.to_dict() for part in theirs.content]
    assert ours.text == "".join(part.text for part in theirs.content if part.type == "text")
    assert [(item.text, item.signature) for item in ours.thinking if not item.redacted] == [
        (part.thinking, part.signature) for part in theirs.content if part.type == "thinking"
    ]
    assert [item.signature for item in ours.thinking if item.redacted] == [
        part.data for part in theirs.content if part.type == "redacted_thinking"
    ]
    assert [(one.id, one.name, one.arguments) for one in ours.calls] == [
        (part.id, part.name, part.input) for part in theirs.content if part.type == "tool_use"
    ]
    assert ours.stop == STOPS[str(theirs.stop_reason)]
    read_, written = theirs.usage.cache_read_input_tokens or 0, theirs.usage.cache_creation_input_tokens or 0
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
        theirs.usage.input_tokens + read_ + written,
        theirs.usage.output_tokens,
    )
    if name != "two texts":
        assert content_of(ours) == blocks
