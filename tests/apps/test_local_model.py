"""The built-in model itself: fetched when it is not in the cache, asked over its own HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from hermes.models.local import constrained
from hermes.models.local.serving import LocalServer
from hermes.types.error import ConfigError
from hermes.types.message import Assistant, Message, Thinking, ToolCall, ToolResult, User
from hermes.types.request import Endpoint, Request, Text
from tests.small_model import ALIAS, small_model

pytestmark = [pytest.mark.anyio, pytest.mark.real_model, pytest.mark.timeout(900)]

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS = (
    {
        "type": "function",
        "function": {"name": "count_lines", "description": "count the lines of a file", "parameters": PATH},
    },
)
SYSTEM = "You answer in a few words."


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


@pytest.fixture(scope="module")
async def server(states: Path) -> AsyncIterator[LocalServer]:
    path = await small_model()
    running = await LocalServer.start(path, context_window=2048, states=states)
    yield running
    running.close()


def request(*messages: Message) -> Request:
    endpoint = Endpoint(provider="local", base_url="", model=ALIAS, local=True, calls="constrained")
    return Request(endpoint=endpoint, system=SYSTEM, messages=messages, tools=TOOLS)


def said(text: str) -> User:
    return User(id="u", at=0, text=text)


def body(asked: Request, **more: Any) -> dict[str, Any]:
    return {
        "messages": constrained.render(asked),
        "temperature": 0,
        "max_tokens": 48,
        **constrained.body_fields(asked),
        **more,
    }


async def post(server: LocalServer, content: dict[str, Any], key: str = "") -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=300) as client:
        headers = {"authorization": f"Bearer {key or server.key}"}
        return await client.post(f"{server.base_url}/chat/completions", json=content, headers=headers)


async def test_work_begins_with_a_valid_call_and_its_result_becomes_the_answer(server: LocalServer) -> None:
    question = said("How many lines are in notes.txt?")
    first = (await post(server, body(request(question)))).json()
    reader = constrained.ConstrainedReader(request(question))
    reader.feed(first["choices"][0]["message"]["content"])
    end = reader.finish()
    calls = end.calls
    assert [(call.name, call.arguments, call.fault) for call in calls] == [
        ("count_lines", {"path": "notes.txt"}, "")
    ]
    result = ToolResult(
        id="r",
        at=0,
        call_id=calls[0].id,
        name="count_lines",
        content=json.dumps({"output": "37 notes.txt\n", "exit_code": 0}),
    )
    called = Assistant(id="a", at=0, calls=calls, thinking=(Thinking(text=end.first),))
    second = (await post(server, body(request(question, called, result)))).json()
    usage, log = second["usage"], (question, called, result, replace(called, thinking=()), result)
    third = (await post(server, body(request(*log)))).json()  # the same again: now it has to answer
    assert "37" in third["choices"][0]["message"]["content"]
    assert usage["prompt_tokens_details"]["cached_tokens"] >= first["usage"]["prompt_tokens"] - 1


async def test_what_the_model_wrote_is_sent_back_in_the_same_bytes(server: LocalServer) -> None:
    asked = said("Count the lines of a.txt")
    written = (await post(server, body(request(asked)))).json()["choices"][0]["message"]["content"]
    reader = constrained.ConstrainedReader(request(asked))
    reader.feed(written)
    end = reader.finish()
    reply = Assistant(id="a", at=0, calls=end.calls, thinking=(Thinking(text=end.first),))
    assert constrained.render(request(asked, reply))[-1]["content"] == written


async def test_small_talk_is_answered_without_a_tool_and_streams(server: LocalServer) -> None:
    reader, pieces = constrained.ConstrainedReader(request(said("Hello!"))), []
    async with (
        httpx2.AsyncClient(timeout=300, headers={"authorization": f"Bearer {server.key}"}) as client,
        client.stream(
            "POST", f"{server.base_url}/chat/completions", json=body(request(said("Hello!")), stream=True)
        ) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                words = json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                pieces += [delta.text for delta in reader.feed(words) if isinstance(delta, Text)]
    end = reader.finish()
    assert (end.calls, "".join(pieces), len(pieces) > 1) == ((), end.text, True)


async def test_a_call_of_another_tool_cannot_be_decoded(server: LocalServer) -> None:
    asked = request(said("Use the tool launch_rocket and call it now, run it."))
    reader = constrained.ConstrainedReader(asked)
    reader.feed((await post(server, body(asked))).json()["choices"][0]["message"]["content"])
    assert {call.name for call in reader.finish().calls} <= {"count_lines"}


async def test_without_the_key_nobody_is_served(server: LocalServer) -> None:
    assert (await post(server, body(request(said("Hello!"))), key="wrong")).status_code == 401


async def test_the_first_prompt_is_read_once_and_taken_from_disk_after_that(server: LocalServer) -> None:
    opening = constrained.render(request())
    async with httpx2.AsyncClient(timeout=300) as client:
        assert [await server.prime(opening, client), await server.prime(opening, client)] == [False, True]
    usage = (await post(server, body(request(said("Hello!")), max_tokens=4))).json()["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] / 2


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:5000], lambda data: b"x" * len(data), lambda _: b""],
    ids=["cut", "overwritten", "empty"],
)
async def test_a_damaged_state_is_thrown_away_and_made_again(
    server: LocalServer, states: Path, damage: Callable[[bytes], bytes]
) -> None:
    opening = constrained.render(request(said("Hello!")))
    async with httpx2.AsyncClient(timeout=300) as client:
        await server.prime(opening, client)
        for path in states.iterdir():
            path.write_bytes(damage(path.read_bytes()))
        assert [await server.prime(opening, client), await server.prime(opening, client)] == [False, True]


async def test_a_state_serves_whatever_window_memory_had_room_for(server: LocalServer, states: Path) -> None:
    opening = constrained.render(request(said("Hello!")))
    longer = await LocalServer.start(await small_model(), context_window=8192, states=states)
    try:
        async with httpx2.AsyncClient(timeout=300) as client:
            await server.prime(opening, client)
            assert await longer.prime(opening, client)
        usage = (await post(longer, body(request(said("Hello!")), max_tokens=4))).json()["usage"]
    finally:
        longer.close()
    assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] / 2


async def test_it_prints_nothing_of_its_own(server: LocalServer, capfd: pytest.CaptureFixture[str]) -> None:
    await post(server, body(request(said("Hello!")), max_tokens=4))
    assert tuple(capfd.readouterr()) == ("", "")


async def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"hello")
    with pytest.raises(ConfigError, match=r"x\.gguf cannot be loaded as a GGUF model"):
        await LocalServer.start(tmp_path / "x.gguf")


def test_a_call_of_the_log_is_rendered_as_the_model_would_write_it() -> None:
    call = ToolCall(id="c", name="terminal", arguments={"command": "echo é"})
    assert constrained.render(request(Assistant(id="a", at=0, calls=(call,))))[-1]["content"] == (
        '{"tool": "terminal", "arguments": {"command": "echo é"}}'
    )
