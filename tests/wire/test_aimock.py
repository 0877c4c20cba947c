"""Each wire holds a conversation with a tool call, over HTTP, with a server that others wrote."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from hermes.models.auth import aws
from hermes.models.client import Timeouts, send
from hermes.models.transports.base import StatusError, Transport
from hermes.models.transports.registry import WIRES, transport_for
from hermes.types.message import Assistant, Message, ToolResult, User
from hermes.types.request import CallStarted, Delta, Endpoint, Request, Text

from .fakes import aimock

__all__ = ["aimock"]
pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}  # fmt: skip
KEYS = json.dumps({"access_key": "AKIDEXAMPLE", "secret_key": "not-a-secret", "region": "us-east-1"})
PLACES: dict[str, dict[str, Any]] = {
    "chat_completions": {"base_url": "/v1", "model": "gpt-4o"},
    "codex_responses": {"base_url": "/v1", "model": "gpt-4o"},
    "anthropic_messages": {"base_url": "", "model": "claude-sonnet-4-5", "auth": "x-api-key"},
    "bedrock_converse": {
        "base_url": "",
        "model": "anthropic.claude-3-haiku-20240307-v1:0",
        "auth": "aws",
        "credential": KEYS,
    },
}


@pytest.fixture
async def http(anyio_backend: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


def endpoint_of(wire: str, address: str) -> Endpoint:
    place = {"credential": "key", **PLACES[wire]}
    return Endpoint(provider="aimock", protocol=wire, **{**place, "base_url": address + place["base_url"]})  # type: ignore[arg-type]


async def asked(
    http: httpx2.AsyncClient, transport: Transport, endpoint: Endpoint, *messages: Message
) -> tuple[Assistant, list[Delta]]:
    request = Request(endpoint=endpoint, system="Be brief.", messages=messages, tools=(TOOL,))
    wire = transport.render(request)
    shown: list[Delta] = []
    signed = aws.sign(wire, endpoint) if endpoint.auth == "aws" else wire
    return await send(http, signed, transport.reader(request), Timeouts(total=10.0), shown.append), shown


@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_with_a_call_goes_through(
    http: httpx2.AsyncClient, aimock: str, wire: str
) -> None:
    endpoint = endpoint_of(wire, aimock)
    transport = transport_for(endpoint)
    question = User(id="u1", at=0.0, text="What is the weather in Paris?")
    called, shown = await asked(http, transport, endpoint, question)
    (call,) = called.calls
    assert (called.stop, call.name, call.arguments, call.fault) == (
        "calls",
        "get_weather",
        {"city": "Paris"},
        "",
    )
    assert [delta for delta in shown if isinstance(delta, CallStarted)] == [CallStarted(name="get_weather")]
    result = ToolResult(id="r1", at=0.0, call_id=call.id, name=call.name, content="21 degrees")
    said, shown = await asked(http, transport, endpoint, question, replace(called, id="a1"), result)
    assert (said.text, said.calls, said.stop) == ("It is 21 degrees.", (), "end")
    assert "".join(delta.text for delta in shown if isinstance(delta, Text)) == said.text


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_request_is_a_status_error(http: httpx2.AsyncClient, aimock: str, wire: str) -> None:
    endpoint = endpoint_of(wire, aimock)
    with pytest.raises(StatusError) as caught:
        await asked(http, transport_for(endpoint), endpoint, User(id="u1", at=0.0, text="hurry"))
    assert (caught.value.status, b"slow down" in caught.value.body) == (429, True)
