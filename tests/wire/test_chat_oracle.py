"""The official client as an oracle: it sends the same request for the same conversation and reads the same reply out of the same bytes."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import pydantic
import pytest

from hermes.models import client
from hermes.models.transports.chat.reader import ChatReader
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.types.message import Assistant, Attachment, Message, ToolCall, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import Endpoint, Options, Request
from tests.wire.recorder import recording
from tests.wire.test_chat_completions import delta, finish, piece, stream

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletionToolParam

pytestmark = pytest.mark.xdist_group(
    "official clients"
)  # imported late and by one process: they take seconds

GPT = Profile(
    family="gpt", system_role="developer", limit_name="max_completion_tokens", thinking="effort", efforts=("low", "high"), dialect="strict", documents=True
)  # fmt: skip
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = ({"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}},)
PNG, PDF = (
    Attachment(media_type="image/png", data="AA=="),
    Attachment(media_type="application/pdf", data="BB==", name="a.pdf"),
)
LOG: tuple[Message, ...] = (
    User(id="u1", at=0, text="look", attachments=(PNG, PDF)),
    Assistant(id="a1", at=0, text="I will.", calls=(ToolCall(id="c1", name="look", arguments={"path": "a"}, raw='{"path": "a"}'), ToolCall(id="c2", name="look", arguments={"path": "b"}, raw='{"path": "b"}'))),
    ToolResult(id="r1", at=0, call_id="c1", name="look", content="seen", images=(PNG,)),
    ToolResult(id="r2", at=0, call_id="c2", name="look", content="", failed=True),
    Assistant(id="a2", at=0, text="Both, ü 🎉."),
    User(id="u2", at=0, text="go on"),
)  # fmt: skip
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
MESSAGES: list[Any] = [
    {"role": "developer", "content": "be good"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE, {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BB=="}}]},
    {"role": "assistant", "content": "I will.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path": "a"}'}},
        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"path": "b"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "user", "content": [{"type": "text", "text": "The images of the results above:"}, IMAGE]},
    {"role": "assistant", "content": "Both, ü 🎉."},
    {"role": "user", "content": "go on"},
]  # fmt: skip
STRICT: "list[ChatCompletionToolParam]" = [
    {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {**SCHEMA, "additionalProperties": False}, "strict": True}}
]  # fmt: skip
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
STREAMS: Mapping[str, bytes] = {
    "words": stream(delta(role="assistant", content=""), delta(content="Grü"), delta(content="ße 🎉"), finish("stop"), {"choices": [], "usage": USAGE}),
    "calls": stream(
        delta(role="assistant", content=None), delta(content="I will."), piece(0, "c1", "look", ""), piece(0, None, None, '{"path"'), piece(0, None, None, ': "ä"}'),
        piece(1, "c2", "look", '{"path": "b"}'), finish("tool_calls"), {"choices": [], "usage": USAGE},
    ),
    "refusal": stream(delta(role="assistant", refusal="I will "), delta(refusal="not."), finish("stop")),
    "cut": stream(delta(role="assistant", content="half a"), finish("length")),
}  # fmt: skip


def endpoint(address: str) -> Endpoint:
    return Endpoint(provider="openai", base_url=f"{address}/v1", model="m", profile=GPT, credential="secret")


def sdk(address: str) -> "OpenAI":
    import openai

    return openai.OpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0)


def test_the_request_is_the_one_that_the_official_client_sends() -> None:
    with recording(STREAMS["words"], "text/event-stream") as server:
        with sdk(server.address) as official:
            for _ in official.chat.completions.create(
                model="m", messages=MESSAGES, tools=STRICT, stream=True, stream_options={"include_usage": True},
                max_completion_tokens=100, temperature=0.5, reasoning_effort="high",
            ):  # fmt: skip
                pass
        options = Options(temperature=0.5, effort="xhigh", max_output=100)
        wire = ChatCompletions().render(
            Request(
                endpoint=endpoint(server.address),
                system="be good",
                messages=LOG,
                tools=TOOLS,
                options=options,
            )
        )
        ((path, body),) = server.requests
        assert wire.url == server.address + path
        assert json.loads(wire.body) == json.loads(body)
        assert wire.headers["authorization"] == server.headers[0]["authorization"]


def test_every_message_is_one_of_the_official_types() -> None:
    request = Request(endpoint=endpoint("http://h"), system="be good", messages=LOG, tools=TOOLS)
    body = json.loads(ChatCompletions().render(request).body)
    from openai.types.chat import ChatCompletionMessageParam

    official = pydantic.TypeAdapter[Any](ChatCompletionMessageParam)
    assert [message["role"] for message in body["messages"] if official.validate_python(message)] == [
        message["role"] for message in MESSAGES
    ]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.anyio
async def test_the_reply_is_the_one_that_the_official_client_reads(name: str) -> None:
    import openai

    with recording(dressed(STREAMS[name]), "text/event-stream") as server:
        with (
            sdk(server.address) as official,
            official.chat.completions.stream(
                model="m", messages=[], stream_options={"include_usage": True}
            ) as events,
        ):
            try:
                expected = events.get_final_completion()
            except openai.LengthFinishReasonError as error:
                expected = error.completion  # type: ignore[assignment]  # as far as it came
        request = Request(endpoint=endpoint(server.address), system="", messages=LOG[:1])
        async with httpx2.AsyncClient() as http:
            got = await client.send(
                http,
                ChatCompletions().render(request),
                ChatReader(request.endpoint),
                client.Timeouts(),
                lambda _: None,
            )
    (choice,) = expected.choices
    calls = choice.message.tool_calls or []
    assert got.text == (choice.message.content or "") + (choice.message.refusal or "")
    assert [(call.id, call.name, call.raw) for call in got.calls] == [
        (call.id, call.function.name, call.function.arguments) for call in calls
    ]
    stop = {"stop": "end", "tool_calls": "calls", "length": "length"}[choice.finish_reason]
    assert got.stop == ("refusal" if choice.message.refusal else stop)
    if expected.usage and expected.usage.prompt_tokens_details and expected.usage.completion_tokens_details:
        told = expected.usage
        assert (got.usage.input_tokens, got.usage.output_tokens) == (
            told.prompt_tokens,
            told.completion_tokens,
        )
        assert got.usage.cache_read == expected.usage.prompt_tokens_details.cached_tokens
        assert got.usage.reasoning == expected.usage.completion_tokens_details.reasoning_tokens


def dressed(data: bytes) -> bytes:
    """With the fields that every chunk of the real service has."""
    return data.replace(
        b'{"id": "chatcmpl-abcdef123456"',
        b'{"id": "chatcmpl-abcdef123456", "object": "chat.completion.chunk", "created": 1, "model": "m"',
    )
