"""Tools beyond the built-in ones cost the prompt nothing until they are found, and then run as any other."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call
from hermes.types.capabilities import Capabilities
from hermes.types.event import Event, ToolStarted
from hermes.types.message import ToolResult

pytestmark = pytest.mark.anyio

TOOL = """
import json
from tools.registry import registry

def handler(args, **keywords):
    return json.dumps({{"said": args["word"], "by": "{name}"}})

registry.register(
    name="{name}",
    toolset="phrases",
    schema={{
        "name": "{name}",
        "description": "Say a word in the manner of {manner}.",
        "parameters": {{"type": "object", "properties": {{"word": {{"type": "string"}}}}, "required": ["word"]}},
    }},
    handler=handler,
)
"""


def home_of(environ: dict[str, str], search: str) -> Path:
    home = Path(environ["HERMES_HOME"])
    (home / "tools").mkdir(parents=True)
    for name, manner in (("say_softly", "a whisper"), ("say_loudly", "a shout")):
        (home / "tools" / f"{name}.py").write_text(TOOL.format(name=name, manner=manner))
    (home / "config.yaml").write_text(f"toolsets: [todo, phrases]\ntools: {{tool_search: {search}}}\n")
    return home


OPTIONS: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "yolo": True}


async def turn(session: Session, text: str) -> list[Event]:
    async with session.stream(text) as stream:
        return [event async for event in stream]


def offered(model: ScriptedModel, number: int = 0) -> list[str]:
    return [one["function"]["name"] for one in model.requests[number]["tools"]]


def results(session: Session) -> list[tuple[str, Any]]:
    return [(one.name, json.loads(one.content)) for one in session.log if isinstance(one, ToolResult)]


FOUND = {"name": "say_loudly", "description": "Say a word in the manner of a shout."}
WHOLE = {
    **FOUND,
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}


async def test_a_tool_is_found_described_and_called_also_after_the_session_was_resumed(
    environ: dict[str, str],
) -> None:
    home = home_of(environ, "{enabled: on}")
    wanted = {"name": "say_loudly", "arguments": {"word": "hi"}}
    model = ScriptedModel(
        call("tool_search", {"query": "shout"}),
        call("tool_describe", {"name": "say_loudly"}),
        call("tool_call", wanted),
        "Said.",
        call("tool_call", wanted),
        "Again.",
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(SessionOptions(cwd=home, **OPTIONS))
        events = await turn(session, "say hi loudly")
        assert results(session) == [
            ("tool_search", {"tools": [FOUND], "of": 2}),
            ("tool_describe", WHOLE),
            ("say_loudly", {"said": "hi", "by": "say_loudly"}),
        ]
        started = [event.call.name for event in events if isinstance(event, ToolStarted)]
        assert started == ["tool_search", "tool_describe", "say_loudly"]
        await session.close()
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(SessionOptions(cwd=home, resume=session.id, **OPTIONS))
        await turn(session, "again")
        assert results(session)[-1] == ("say_loudly", {"said": "hi", "by": "say_loudly"})
        await session.close()
    assert offered(model) == ["todo", "tool_call", "tool_describe", "tool_search"]
    assert "There are: say_loudly, say_softly." in str(model.requests[0]["tools"])


@pytest.mark.parametrize(
    ("search", "names"),
    [
        ("{enabled: off}", ["say_loudly", "say_softly", "todo"]),
        ("{enabled: auto}", ["say_loudly", "say_softly", "todo"]),
        ("{threshold_pct: 0.01}", ["todo", "tool_call", "tool_describe", "tool_search"]),
    ],
)
async def test_tools_are_shown_as_long_as_they_take_little_of_the_window(
    environ: dict[str, str], search: str, names: list[str]
) -> None:
    home, model = home_of(environ, search), ScriptedModel("Hello.")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(SessionOptions(cwd=home, **OPTIONS))
        await turn(session, "hi")
        await session.close()
    assert offered(model) == names


async def test_what_a_session_may_not_use_is_neither_found_nor_called(environ: dict[str, str]) -> None:
    home = home_of(environ, "{enabled: on}")
    model = ScriptedModel(
        call("tool_search", {"query": "say a word"}),
        call("tool_call", {"name": "say_loudly", "arguments": {"word": "hi"}}),
        "No.",
    )
    bounds = Capabilities(tools=("tool_*", "say_softly"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(SessionOptions(cwd=home, capabilities=bounds, **OPTIONS))
        await turn(session, "say hi loudly")
        (_, found), (name, refused) = results(session)
        await session.close()
    assert [one["name"] for one in found["tools"]] == ["say_softly"]
    assert (name, refused["error"]) == (
        "tool_call",
        "There is no tool 'say_loudly' to call; tool_search finds those that there are.",
    )


@pytest.mark.parametrize(
    ("window", "tools"),
    [
        (0, ["say_loudly", "say_softly", "todo"]),
        (20_000, ["todo", "tool_call", "tool_describe", "tool_search"]),
    ],
)
async def test_the_window_that_a_server_has_told_counts_for_a_new_session(
    environ: dict[str, str], window: int, tools: list[str]
) -> None:
    home = home_of(environ, "{threshold_pct: 0.2}")
    if window:
        (home / "cache").mkdir()
        (home / "cache" / "windows.json").write_text(json.dumps({"http://127.0.0.1:1/v1 m": window}))
    model = ScriptedModel("hello")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(SessionOptions(**OPTIONS))
        await session.send("hi")
        await session.close()
    assert sorted(offered(model)) == tools
