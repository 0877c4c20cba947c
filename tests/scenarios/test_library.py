import inspect
import os
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
import hermes.sync
from hermes.testing import ScriptedModel, ScriptedServer, call, say
from hermes.types.error import ConfigError
from hermes.types.event import TextDelta, ToolStarted, TurnFinished


@hermes.tool
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


def test_plain_code_sends_streams_and_closes(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 4}), say("eight"), say("again", size=2))
    with hermes.sync.open(
        base_url="http://x/v1", model="m", tools=[double], environ=environ, http=model.http()
    ) as agent:
        assert agent.send("twice 4").text == "eight"
        assert (
            "".join(event.text for event in agent.stream("more") if isinstance(event, TextDelta)) == "again"
        )
        assert len(agent.log) == 6


def test_plain_code_is_interrupted_and_steered_from_another_thread(environ: dict[str, str]) -> None:
    release = threading.Event()

    @hermes.tool
    def wait() -> str:
        """Wait."""
        release.wait(5)
        return "waited"

    model = ScriptedModel(call("wait", {}), say("a long story", size=1, pause=0.2))
    with hermes.sync.open(
        base_url="http://x/v1", model="m", tools=[wait], environ=environ, http=model.http()
    ) as agent:
        told = []
        for event in agent.stream("go"):
            if isinstance(event, ToolStarted):
                told.append(agent.steer("be brief"))
                release.set()
            if isinstance(event, TextDelta):
                threading.Thread(target=agent.interrupt).start()
    assert told == [True]
    assert "be brief" in model.requests[1]["messages"][-1]["content"]


def test_plain_code_says_why_it_stops_a_turn(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long story", size=1, pause=0.1))
    with hermes.sync.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
        for event in agent.stream("tell"):
            if isinstance(event, TextDelta):
                threading.Thread(target=agent.interrupt, args=("the build is over",)).start()
            if isinstance(event, TurnFinished):
                assert (event.outcome, event.reason) == ("interrupted", "the build is over")
                assert event.text.endswith("(stopped by the user: the build is over)")


def test_leaving_a_stream_early_interrupts_the_turn(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long story", size=1, pause=0.1), "next")
    with hermes.sync.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
        for event in agent.stream("tell"):
            if isinstance(event, TextDelta):
                break
        assert agent.send("and?").text == "next"


@pytest.mark.anyio
@pytest.mark.parametrize("limit", [float("nan"), float("inf"), -1.0])
async def test_a_limit_on_money_that_limits_nothing_is_refused(limit: float) -> None:
    with pytest.raises(ConfigError, match="max_cost and max_steps are limits"):
        async with hermes.open(base_url="http://x/v1", model="m", max_cost=limit):
            pass


def test_each_keyword_of_open_is_in_its_signature() -> None:
    for opening in (hermes.open, hermes.sync.open):
        keywords = inspect.signature(opening).parameters
        assert {"model", "api_key", "tools", "deps", "max_cost", "attended"} <= keywords.keys()
        assert {one.kind for one in keywords.values()} == {inspect.Parameter.KEYWORD_ONLY}
    with (
        pytest.raises(TypeError, match=r"^hermes\.open takes no modle; it takes model, base_url, "),
        hermes.sync.open(modle="m"),  # type: ignore[call-arg]  # as type checkers say, too
    ):
        pass


def test_unknown_names_are_told_like_any_module_s() -> None:
    with pytest.raises(AttributeError, match="module 'hermes' has no attribute 'nothing'"):
        _ = hermes.nothing
    assert {"open", "tool", "Session"} <= set(dir(hermes))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_connection_serves_a_session_and_no_request_comes_before_the_first_completion(
    anyio_backend: str, environ: dict[str, str], tmp_path: Path
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True)
    (home / "config.yaml").write_text(
        "model: {context_window: 32000}\n"
    )  # known, so that the server is not asked for it
    with ScriptedServer(ScriptedModel("one", "two", "three")).running() as server:
        async with hermes.open(base_url=server.base_url, model="m", environ=environ, cwd=tmp_path) as agent:
            assert server.connections == 0
            for word in ("one", "two", "three"):
                assert (await agent.send("next")).text == word
    assert server.connections == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stall_ends_within_its_limit(anyio_backend: str, environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("model: {idle_timeout: 1.5, first_byte_timeout: 1.5, max_retries: 1}\n")
    model = ScriptedModel(say("never comes", pause=30), say("half of it comes", size=8, pause=0.1))
    async with hermes.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
        with anyio.fail_after(25):
            end = await agent.send("hi")
    assert end.text == "half of it comes"


@pytest.mark.anyio
async def test_a_folder_that_is_not_there_is_refused_and_not_made(
    environ: dict[str, str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ConfigError, match="missing is no folder"):
        async with hermes.open(base_url="http://x/v1", model="m", environ=environ, cwd=missing):
            pass
    assert not missing.exists()


@pytest.mark.anyio
async def test_a_folder_whose_name_is_not_utf_8_is_refused_with_a_sentence(
    environ: dict[str, str], tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    with pytest.raises(ConfigError, match="caf\ufffd, whose name is not UTF-8: rename it"):
        async with hermes.open(base_url="http://x/v1", model="m", environ=environ, cwd=odd):
            pass


@pytest.mark.anyio
async def test_what_is_no_tool_or_the_second_of_one_name_is_refused_in_a_sentence(
    environ: dict[str, str],
) -> None:
    def plain() -> str:
        """Nothing."""
        return ""

    tools: list[Any] = [plain]
    with pytest.raises(
        TypeError, match="plain is no tool of a session; decorate the function with @hermes.tool"
    ):
        async with hermes.open(base_url="http://x/v1", model="m", environ=environ, tools=tools):
            pass
    twin = hermes.tool(plain)
    with pytest.raises(ConfigError, match="Two tools are called plain"):
        async with hermes.open(base_url="http://x/v1", model="m", environ=environ, tools=[twin, twin]):
            pass


@pytest.mark.anyio
async def test_one_toolset_may_be_named_without_a_list(environ: dict[str, str], tmp_path: Path) -> None:
    model = ScriptedModel("hi")
    async with hermes.open(
        base_url="http://x/v1", model="m", environ=environ, http=model.http(), toolsets="todo", cwd=tmp_path
    ) as session:
        await session.send("hi")
    assert [one["function"]["name"] for one in model.requests[0]["tools"]] == ["todo"]


def test_a_key_that_is_given_is_sent_and_never_shown(environ: dict[str, str]) -> None:
    model, sent = ScriptedModel(say("hi"), say("again")), list[str]()

    async def note(request: Any) -> None:
        sent.append(request.headers["authorization"])

    client = model.http()
    client.event_hooks["request"].append(note)
    environ = {**environ, "OPENROUTER_API_KEY": "sk-or-of-the-environment"}
    with hermes.sync.open(
        model="openrouter/z-ai/glm-5", api_key="sk-given", environ=environ, http=client
    ) as agent:
        assert agent.send("hello").text == "hi"
    assert sent == ["Bearer sk-given"]
    assert "sk-given" not in repr(hermes.SessionOptions(api_key="sk-given"))


def test_the_words_of_a_reply_come_as_text(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 4}), say("eight", size=2), say("nine", size=2))
    with hermes.sync.open(
        base_url="http://x/v1", model="m", tools=[double], environ=environ, http=model.http()
    ) as agent:
        assert "".join(agent.stream_text("twice 4")) == "eight"
        for words in agent.stream_text("and more"):
            assert words.startswith("ni")
            break
        assert len(agent.log) == 6
        assert agent.usage.output_tokens > 0


@pytest.mark.anyio
async def test_the_words_of_a_reply_come_as_text_in_a_loop(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 4}), say("eight", size=2))
    async with (
        hermes.open(
            base_url="http://x/v1", model="m", tools=[double], environ=environ, http=model.http()
        ) as agent,
        agent.stream("twice 4") as events,
    ):
        assert "".join([words async for words in events.text()]) == "eight"


def test_what_an_app_answers_questions_with_is_at_the_top() -> None:
    assert {"Approve", "Attachment", "Clarify", "Deny", "Grant", "HermesError", "Reply"} <= {*hermes.__all__}
    assert all(getattr(hermes, name).__name__ for name in hermes.__all__ if name != "Event")


class OfTheApp(Exception):
    pass


@pytest.mark.anyio
async def test_what_an_app_raises_leaves_a_turn_and_a_session_as_it_is(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long story", size=1, pause=0.1), say("next"))

    async def read(agent: hermes.Session) -> None:
        async with agent.stream("tell") as events:
            async for _ in events.text():
                raise OfTheApp

    async def work() -> None:
        async with hermes.open(
            base_url="http://x/v1", model="m", environ=environ, http=model.http()
        ) as agent:
            with pytest.raises(OfTheApp):
                await read(agent)
            assert (await agent.send("more")).text == "next"
            raise OfTheApp

    with pytest.raises(OfTheApp):
        await work()


def test_what_plain_code_raises_leaves_an_open_session_as_it_is(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long story", size=1, pause=0.1))

    def work() -> None:
        with hermes.sync.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
            for _ in agent.stream("tell"):
                raise OfTheApp

    with pytest.raises(OfTheApp):
        work()
