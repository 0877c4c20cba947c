import threading
from pathlib import Path

import anyio
import pytest

import hermes
import hermes.sync
from hermes.testing import ScriptedModel, ScriptedServer, call, say
from hermes.types.event import TextDelta, ToolStarted


@hermes.tool
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


def test_plain_code_sends_streams_and_closes(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 4}), say("eight"), say("again", size=2))
    with hermes.sync.open(base_url="http://x/v1", model="m", tools=[double], environ=environ, http=model.http()) as agent:
        assert agent.send("twice 4").text == "eight"
        assert "".join(event.text for event in agent.stream("more") if isinstance(event, TextDelta)) == "again"
        assert len(agent.log) == 6


def test_plain_code_is_interrupted_and_steered_from_another_thread(environ: dict[str, str]) -> None:
    release = threading.Event()

    @hermes.tool
    def wait() -> str:
        """Wait."""
        release.wait(5)
        return "waited"

    model = ScriptedModel(call("wait", {}), say("a long story", size=1, pause=0.2))
    with hermes.sync.open(base_url="http://x/v1", model="m", tools=[wait], environ=environ, http=model.http()) as agent:
        told = []
        for event in agent.stream("go"):
            if isinstance(event, ToolStarted):
                told.append(agent.steer("be brief"))
                release.set()
            if isinstance(event, TextDelta):
                threading.Thread(target=agent.interrupt).start()
    assert told == [True]
    assert "be brief" in model.requests[1]["messages"][-1]["content"]


def test_leaving_a_stream_early_interrupts_the_turn(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long story", size=1, pause=0.1), "next")
    with hermes.sync.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
        for event in agent.stream("tell"):
            if isinstance(event, TextDelta):
                break
        assert agent.send("and?").text == "next"


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
    (home / "config.yaml").write_text("model: {context_window: 32000}\n")  # known, so that the server is not asked for it
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
    (home / "config.yaml").write_text("model: {idle_timeout: 0.3, first_byte_timeout: 0.3, max_retries: 1}\n")
    model = ScriptedModel(say("never comes", pause=30), say("half of it comes", size=4, pause=0.2))
    async with hermes.open(base_url="http://x/v1", model="m", environ=environ, http=model.http()) as agent:
        with anyio.fail_after(10):
            end = await agent.send("hi")
    assert end.text == "half of it comes"
