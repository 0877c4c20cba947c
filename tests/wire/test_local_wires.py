"""The built-in model's own server speaks three wires; each holds a conversation with it in which a tool is used."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from msgspec.structs import replace

from hermes.models import client
from hermes.models.local.call_styles import recover
from hermes.models.local.serving import LocalServer
from hermes.models.transports.registry import WIRES, transport_for
from hermes.types.message import Assistant, Message, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import Delta, Endpoint, Options, Protocol, Request, Text
from tests.small_model import ALIAS, small_model

pytestmark = [pytest.mark.anyio, pytest.mark.real_model, pytest.mark.timeout(900)]

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string", "pattern": "^(?!/)"}},
    "required": ["path"],
    "additionalProperties": False,
}
# A pattern that looks ahead is one that a converter to grammars may refuse; the dialect drops it.
TOOLS = (
    {
        "type": "function",
        "function": {"name": "count_lines", "description": "count the lines of a file", "parameters": PATH},
    },
)
PROFILE = Profile(family="qwen", dialect="llama_cpp", vision=False)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[LocalServer]:
    path = await small_model()
    running = await LocalServer.start(path, context_window=1024)
    yield running
    running.close()


async def ask(endpoint: Endpoint, log: list[Message]) -> tuple[Assistant, str]:
    """The reply, and the text that was shown while it came."""
    request = Request(
        endpoint=endpoint,
        system="Answer in a few words.",
        messages=tuple(log),
        tools=TOOLS,
        options=Options(max_output=40, temperature=0.0),
    )
    transport, deltas = transport_for(endpoint), list[Delta]()
    async with httpx2.AsyncClient(timeout=300) as http:
        reply = await client.send(
            http, transport.render(request), transport.reader(request), client.Timeouts(), deltas.append
        )
    shown = [delta.text for delta in deltas if isinstance(delta, Text)]
    assert len(shown) > 1
    return replace(reply, id=f"a{len(log)}"), "".join(shown)


@pytest.mark.parametrize("protocol", sorted(set(WIRES) - {"bedrock_converse"}))
async def test_a_wire_uses_a_tool_and_tells_its_result(server: LocalServer, protocol: Protocol) -> None:
    endpoint = Endpoint(
        provider="local",
        base_url=server.base_url,
        model=ALIAS,
        protocol=protocol,
        credential=server.key,
        profile=PROFILE,
    )
    log: list[Message] = [User(id="u1", at=0, text="How many lines are in notes.txt?")]
    asked, shown = await ask(endpoint, log)
    said, (call,) = recover(
        asked.text, ["count_lines"]
    )  # its template shows it calls in doubled braces, so it prints them
    assert (call.name, call.arguments, shown, asked.stop) == (
        "count_lines",
        {"path": "notes.txt"},
        asked.text,
        "end",
    )
    assert (asked.protocol, asked.usage.input_tokens > asked.usage.output_tokens > 0) == (protocol, True)
    log.append(replace(asked, text=said, calls=(call,), stop="calls"))
    log.append(
        ToolResult(
            id="r1",
            at=0,
            call_id=call.id,
            name=call.name,
            content='{"output": "37 notes.txt\\n", "exit_code": 0}',
        )
    )
    answered, shown = await ask(endpoint, log)
    assert (answered.stop, answered.calls, shown) == ("end", (), answered.text)
    assert "37" in answered.text
