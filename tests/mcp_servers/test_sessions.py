"""A session with the tools of servers: what it asks, what counts as from outside, what it freezes."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import hermes
from hermes.agent.change_mode import ChangeMode
from hermes.agent.spec import SessionOptions
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Asked, ToolFinished
from hermes.types.message import ToolResult
from hermes.types.question import Approve, Clarify, Deny, Grant, Reply

from .conftest import Opened
from .reference import EVERYTHING, node

pytestmark = pytest.mark.anyio
Hostile = Callable[..., dict[str, Any]]


@pytest.fixture
def talk(opened: Opened, tmp_path: Path) -> Any:
    (tmp_path / "work").mkdir()

    @asynccontextmanager
    async def with_session(
        servers: dict[str, Any], model: ScriptedModel, **more: Any
    ) -> AsyncIterator[hermes.Session]:
        async with opened(servers, http=model.http()) as runtime:
            for name in servers:
                await runtime.mcp.connect(name)
            options = {
                "cwd": tmp_path / "work",
                "base_url": "http://127.0.0.1:1/v1",
                "model": "scripted",
                "attended": True,
                **more,
            }
            session = await runtime.session(SessionOptions(**options))
            try:
                yield session
            finally:
                await session.close()

    return with_session


async def turn(session: hermes.Session, *answers: Any) -> tuple[list[Any], list[str]]:
    """The questions of a turn and the results of its calls; each question gets the next answer."""
    left, asked, results = list(answers), [], []
    async with session.stream("go") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                asked.append(event.question)
                assert not left or session.answer(event.id, left.pop(0))
            if isinstance(event, ToolFinished) and isinstance(event.result, ToolResult):
                results.append(event.result.content)
    return asked, results


async def test_a_tool_asks_first_and_a_wider_yes_holds_for_it_alone(talk: Any, hostile: Hostile) -> None:
    model = ScriptedModel(
        call("mcp__good__echo", {"text": "one"}),
        call("mcp__good__echo", {"text": "two"}),
        say("done"),
    )
    async with talk({"good": hostile("is good", trust="ask")}, model) as session:
        asked, results = await turn(session, Grant(scope="session"))
    assert results == ['{"result": "one"}', '{"result": "two"}']
    (question,) = asked
    assert isinstance(question, Approve)
    assert question.command == 'mcp__good__echo {"text": "one"}'
    assert question.reasons == ("the MCP server good runs it, which says that it only reads",)
    assert question.session_pattern.startswith("the tool mcp__good__echo {content ")
    assert question.always_pattern == question.session_pattern


async def test_a_no_is_told_and_nobody_is_a_no(talk: Any, hostile: Hostile) -> None:
    servers = {"good": hostile("is good", trust="ask")}
    model = ScriptedModel(call("mcp__good__echo", {"text": "one"}), say("done"))
    async with talk(servers, model) as session:
        _, (refused,) = await turn(session, Deny(reason="not now"))
        assert [one.outside for one in session.log if isinstance(one, ToolResult)] == [""]
    assert "They said: not now." in refused
    model = ScriptedModel(call("mcp__good__echo", {"text": "one"}), say("done"))
    async with talk(servers, model, attended=False) as session:
        _, (unattended,) = await turn(session)
    assert "Nobody can be asked here" in unattended


@pytest.mark.parametrize(("trust", "count"), [("ask", 1), ("read-only", 0), ("full", 0)])
async def test_trust_says_who_is_asked(talk: Any, hostile: Hostile, trust: str, count: int) -> None:
    model = ScriptedModel(call("mcp__good__echo", {"text": "one"}), say("done"))
    async with talk({"good": hostile("is good", trust=trust)}, model) as session:
        asked, results = await turn(session, *([Grant()] * count))
    assert (len(asked), results) == (count, ['{"result": "one"}'])


async def test_what_a_server_gives_is_from_outside_and_asks_again_only_for_others(
    talk: Any, hostile: Hostile
) -> None:
    servers = {
        name: hostile("changes things", trust="full", sandbox={"enabled": False}) for name in ("one", "two")
    }
    model = ScriptedModel(
        call("mcp__one__echo", {"text": "a"}),
        call("mcp__one__echo", {"text": "b"}),
        call("mcp__two__echo", {"text": "c"}),
        say("done"),
    )
    async with talk(servers, model) as session:
        asked, results = await turn(session, Grant())
        outside = [one.outside for one in session.log if isinstance(one, ToolResult)]
    assert len(results) == 3
    assert [question.command for question in asked] == ['mcp__two__echo {"text": "c"}']
    assert outside[0] == "the MCP server one"
    assert "the MCP server one" in asked[0].reasons[-1]


async def test_plan_mode_lets_no_server_change_anything(talk: Any, hostile: Hostile) -> None:
    model = ScriptedModel(call("mcp__good__echo", {"text": "one"}), say("done"))
    async with talk({"good": hostile("changes things", trust="full")}, model) as session:
        await session.change_mode(ChangeMode(planning=True))
        _, (refused,) = await turn(session)
    assert "Plan mode is on" in refused


async def test_a_session_keeps_the_definitions_that_it_began_with(talk: Any, hostile: Hostile) -> None:
    model = ScriptedModel(say("one"), say("two"))
    async with talk({"bad": hostile("changes its mind")}, model) as session:
        before = session.tools.definitions
        await session.send("hello")
        assert session.tools.definitions == before
        assert "mcp__bad__echo" in session.tools.offered


async def test_a_server_asks_the_user_and_uses_the_model_only_with_a_yes(talk: Any) -> None:
    servers = {"all": {"command": node(), "args": [str(EVERYTHING), "stdio"], "trust": "full"}}
    model = ScriptedModel(
        call("mcp__all__trigger-sampling-request", {"prompt": "Say hi", "maxTokens": 20}),
        call("mcp__all__trigger-sampling-request", {"prompt": "Say hi", "maxTokens": 20}),
        say("hi from the model", breaks_prefix=True),
        say("done", breaks_prefix=True),
    )
    async with talk(servers, model) as session:
        asked, results = await turn(session, Reply(text="No"), Reply(text="Yes, once"))
    assert all(isinstance(one, Clarify) for one in asked)
    assert "wants your model to answer, with 20 tokens at most" in asked[0].text
    assert "the user does not let it use the model" in results[0]
    assert "hi from the model" in results[1]


async def test_progress_of_a_long_call_is_shown(talk: Any) -> None:
    servers = {"all": {"command": node(), "args": [str(EVERYTHING), "stdio"], "trust": "full"}}
    model = ScriptedModel(
        call("mcp__all__trigger-long-running-operation", {"duration": 1, "steps": 2}), say("done")
    )
    shown = ""
    async with talk(servers, model) as session, session.stream("go") as stream:
        async for event in stream:
            shown += getattr(event, "text", "") if type(event).__name__ == "ToolProgress" else ""
    assert "1 of 2" in shown


@pytest.mark.parametrize(("percent", "shown"), [(10.0, True), (0.1, False)])
async def test_a_small_model_has_the_tools_of_servers_where_they_are_short(
    opened: Opened, hostile: Hostile, percent: float, shown: bool
) -> None:
    model = ScriptedModel()
    flags = {"model.context_window": 8_000, "tools.tool_search.threshold_pct": percent}
    async with opened({"good": hostile("is good")}, http=model.http(), flags=flags) as runtime:
        await runtime.mcp.connect("good")
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="scripted")
        session = await runtime.session(options)
        names = {one["function"]["name"] for one in session.tools.definitions}
        await session.close()
    assert ("mcp__good__echo" in names) is shown


async def test_settings_that_change_while_a_session_runs_take_no_server_from_it(
    opened: Opened, hostile: Hostile, tmp_path: Path
) -> None:
    model = ScriptedModel(call("mcp__good__echo", {"text": "one"}), say("done"))
    servers = {"good": hostile("is good", trust="ask")}
    async with opened(servers, http=model.http()) as runtime:
        await runtime.mcp.connect("good")
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="scripted", attended=True)
        session = await runtime.session(options)
        more = {"good": hostile("is good", trust="full"), "new": hostile("is good")}
        (tmp_path / "home" / "config.yaml").write_text(json.dumps({"mcp_servers": more}))
        await runtime.mcp.reload()
        _, results = await turn(session, Grant())
        await session.close()
        later = await runtime.session(options)
        assert {"mcp__good__echo", "mcp__new__echo"} <= later.tools.offered
        await later.close()
    assert results == ['{"result": "one"}']


async def test_a_server_that_was_added_is_in_the_next_session_of_a_running_program(
    opened: Opened, hostile: Hostile, tmp_path: Path
) -> None:
    async with opened({}, http=ScriptedModel().http()) as runtime:
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="scripted")
        await (await runtime.session(options)).close()
        (tmp_path / "home" / "config.yaml").write_text(
            json.dumps({"mcp_servers": {"new": hostile("is good")}})
        )
        session = await runtime.session(options)
        assert "mcp__new__echo" in session.tools.offered
        await session.close()


async def test_a_yes_for_a_tool_is_none_for_another_program_of_the_same_words(
    opened: Opened, hostile: Hostile
) -> None:
    found = []
    for place in ("one", "two"):
        server = hostile("is good", trust="ask")
        server["args"] = [*server["args"], place]
        async with opened({"good": server}) as runtime:
            await runtime.mcp.connect("good")
            found.append(runtime.mcp.entries()["mcp__good__echo"].manifest.definition)
    assert found[0] != found[1]
