"""The official client as an oracle: it sends the same request for the same conversation and reads the same reply out of the same bytes."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import pydantic
import pytest

from hermes.models import client
from hermes.models.transports.responses.transport import CodexResponses
from hermes.types.message import Assistant
from hermes.types.request import Endpoint, Options, Request
from tests.wire.recorder import recording
from tests.wire.test_responses import (
    GPT,
    ITEMS,
    LOG,
    REPLY,
    TOOLS,
    USAGE,
    called,
    event,
    fields_of,
    said,
    thought,
)

IMAGE: dict[str, Any] = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
INPUT: list[Any] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<memory>tea</memory>\n\nlook"}, IMAGE, {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,BB=="}]},
    *ITEMS,
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "{}"}, IMAGE]},
]  # fmt: skip
if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.responses import FunctionToolParam

pytestmark = pytest.mark.xdist_group(
    "official clients"
)  # imported late and by one process: they take seconds

FLAT: "list[FunctionToolParam]" = [
    {
        "type": "function",
        "name": "t",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
]
OWN = Assistant(**{**fields_of(REPLY), "id": "a0"})
REFUSED = {**said(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
REPLIES: Mapping[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "reasoning, words and calls": (ITEMS, {"status": "completed"}),
    "words": ([said("Grüße 🎉")], {"status": "completed"}),
    "two messages and a call": (
        [said("first"), said("second", "msg_2"), called("c1")],
        {"status": "completed"},
    ),
    "a refusal": ([REFUSED], {"status": "completed"}),
    "cut": (
        [thought("hm"), said("half a")],
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ),
}


def endpoint(address: str) -> Endpoint:
    return Endpoint(provider="openai", base_url=f"{address}/v1", model="m", profile=GPT, credential="secret")


def sdk(address: str) -> "OpenAI":
    import openai

    return openai.OpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0)


def recorded(items: list[dict[str, Any]], ending: dict[str, Any]) -> bytes:
    """The events in which the service brings such a reply."""
    frame = {
        "id": "resp_abcdef123456", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
    }  # fmt: skip
    data = [
        event(
            "response.created", sequence_number=0, response={**frame, "status": "in_progress", "output": []}
        )
    ]
    for index, item in enumerate(items):
        data += _events(index, item)
    usage = {**USAGE, "total_tokens": 13}
    whole = {**frame, **ending, "output": items, "usage": usage}
    return b"".join([*data, event(f"response.{ending['status']}", sequence_number=99, response=whole)])


def _events(index: int, item: dict[str, Any]) -> list[bytes]:
    place = {"output_index": index, "item_id": item["id"], "sequence_number": index}
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": ""}
    began = {**item, **{name: value for name, value in empty.items() if name in item}}
    found = [event("response.output_item.added", item=began, output_index=index, sequence_number=index)]
    for part in item.get("content", ()):
        kind, text = (
            ("output_text", part.get("text"))
            if part["type"] == "output_text"
            else ("refusal", part.get("refusal"))
        )
        found.append(
            event(
                "response.content_part.added",
                **place,
                content_index=0,
                part={**part, **({"text": ""} if kind == "output_text" else {"refusal": ""})},
            )
        )
        found += [
            event(f"response.{kind}.delta", **place, content_index=0, delta=letter, logprobs=[])
            for letter in str(text)
        ]
    for part in item.get("summary", ()):
        found.append(
            event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=part["text"])
        )
    if "arguments" in item:
        found.append(event("response.function_call_arguments.delta", **place, delta=item["arguments"]))
    return [*found, event("response.output_item.done", item=item, output_index=index, sequence_number=index)]


def test_the_request_is_the_one_that_the_official_client_sends() -> None:
    with recording(recorded(*REPLIES["words"]), "text/event-stream") as server:
        with sdk(server.address) as official:
            for _ in official.responses.create(
                model="m", instructions="be good", input=INPUT, tools=FLAT, stream=True, store=False, max_output_tokens=7,
                include=["reasoning.encrypted_content"], reasoning={"effort": "high", "summary": "auto"},
            ):  # fmt: skip
                pass
        log = (LOG[0], OWN, LOG[2])
        options = Options(max_output=7, effort="max", temperature=0.2)
        wire = CodexResponses().render(
            Request(
                endpoint=endpoint(server.address),
                system="be good",
                messages=log,
                tools=TOOLS,
                options=options,
            )
        )
        ((path, body),) = server.requests
        assert wire.url == server.address + path
        assert json.loads(wire.body) == json.loads(body)
        assert wire.headers["authorization"] == server.headers[0]["authorization"]


def test_every_item_is_one_of_the_official_types() -> None:
    log = (LOG[0], OWN, *LOG[1:])
    body = json.loads(
        CodexResponses().render(Request(endpoint=endpoint("http://h"), system="", messages=log)).body
    )
    from openai.types.responses import ResponseInputItemParam

    official = pydantic.TypeAdapter[Any](ResponseInputItemParam)
    assert [item["type"] for item in body["input"] if official.validate_python(item)] == [
        item["type"] for item in body["input"]
    ]


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.anyio
async def test_the_reply_is_the_one_that_the_official_client_reads(name: str) -> None:
    from openai.types.responses import ResponseOutputItem

    with recording(recorded(*REPLIES[name]), "text/event-stream") as server:
        with sdk(server.address) as official, official.responses.stream(model="m", input="x") as events:
            expected: Any = next((one.response for one in events if one.type == "response.completed"), None)
        request = Request(endpoint=endpoint(server.address), system="", messages=LOG[:1])
        transport = CodexResponses()
        async with httpx2.AsyncClient() as http:
            got = await client.send(
                http, transport.render(request), transport.reader(request), client.Timeouts(), lambda _: None
            )
    items, ending = REPLIES[name]
    output: Any = (
        expected.output
        if expected
        else pydantic.TypeAdapter[Any](list[ResponseOutputItem]).validate_python(items)
    )
    parts = [part for item in output if item.type == "message" for part in item.content]
    calls = [item for item in output if item.type == "function_call"]
    assert got.text == "\n\n".join(
        part.text if part.type == "output_text" else part.refusal for part in parts
    )
    assert [(call.id, call.name, call.raw) for call in got.calls] == [
        (item.call_id, item.name, item.arguments) for item in calls
    ]
    assert [item.text for item in got.thinking] == [
        part.text for item in output if item.type == "reasoning" for part in item.summary
    ]
    assert (got.stop == "length", got.stop == "calls") == (ending["status"] == "incomplete", bool(calls))
    if expected:
        assert (got.usage.input_tokens, got.usage.output_tokens) == (
            expected.usage.input_tokens,
            expected.usage.output_tokens,
        )
        assert got.usage.cache_read == expected.usage.input_tokens_details.cached_tokens
        assert got.usage.reasoning == expected.usage.output_tokens_details.reasoning_tokens
