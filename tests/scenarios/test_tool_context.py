"""What a tool may ask of its session works from every kind of handler: async, plain, tool file, other thread."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, Turn, call, calls, say
from hermes.types.event import Asked, Event, ToolFinished, ToolProgress
from hermes.types.message import ToolResult
from hermes.types.question import Clarify, Reply

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio
ASKED = Clarify(text="Which?", options=("a", "b"))


@hermes.tool
async def asynchronous(ctx: Any) -> str:
    """Ask and tell."""
    ctx.progress("working")
    return str((await ctx.ask(ASKED)).text)


@hermes.tool
def plain(ctx: Any) -> str:
    """Ask and tell."""
    ctx.progress("working")
    return str(ctx.ask_blocking(ASKED).text)


@hermes.tool
def threaded(ctx: Any) -> str:
    """Ask and tell from a thread of its own."""
    found: list[str] = []

    def work() -> None:
        ctx.progress("working")
        found.append(ctx.ask_blocking(ASKED).text)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


TOOL_FILE = """
from tools.registry import registry, tool_result
from hermes.types.question import Clarify

async def handler(args, ctx=None, **keywords):
    ctx.progress("working")
    answer = await ctx.ask(Clarify(text="Which?", options=("a", "b")))
    return tool_result(result=answer.text)

registry.register("filed", "filed", {"name": "filed", "parameters": {"type": "object"}}, handler, is_async=True)
"""


async def told(session: hermes.Session) -> list[Event]:
    """The events of a turn; the first question is answered once its tool's progress was seen."""
    seen: list[Event] = []
    async with session.stream("go") as stream:
        async for event in stream:
            seen.append(event)
            if isinstance(event, Asked):
                assert any(isinstance(one, ToolProgress) for one in seen)  # not only when the tool ends
                assert session.answer(event.id, Reply(text="b"))
    return seen


def outline(events: list[Event]) -> list[str]:
    return [event.kind for event in events if isinstance(event, ToolProgress | Asked | ToolFinished)]


@pytest.mark.parametrize("function", [asynchronous, plain, threaded], ids=lambda one: str(one.entry.name))
async def test_questions_and_progress_of_a_function_reach_the_session_at_once(
    talk: Talk, function: Any
) -> None:
    model = ScriptedModel(call(function.entry.name, {}), say("done"))
    async with talk(model, functions=(function,)) as session:
        events = await told(session)
        assert outline(events) == ["tool_progress", "asked", "tool_finished"]
        (result,) = [message for message in session.log if isinstance(message, ToolResult)]
        assert result.content == '{"result": "b"}'


async def test_questions_and_progress_of_a_tool_file_reach_the_session_at_once(
    talk: Talk, environ: dict[str, str]
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "filed.py").write_text(TOOL_FILE)
    async with talk(ScriptedModel(call("filed", {}), say("done")), toolsets=("filed",)) as session:
        events = await told(session)
        assert outline(events) == ["tool_progress", "asked", "tool_finished"]
        (result,) = [message for message in session.log if isinstance(message, ToolResult)]
        assert result.content == '{"result": "b"}'


async def test_an_interrupt_withdraws_the_question_of_a_tool_file(
    talk: Talk, environ: dict[str, str]
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "filed.py").write_text(TOOL_FILE)
    async with talk(ScriptedModel(call("filed", {}), say("done")), toolsets=("filed",)) as session:
        question = ""
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, Asked):
                    question = event.id
                    session.interrupt()
        while session.answer(question, Reply(text="late")):  # noqa: ASYNC110  # another loop withdraws it
            await anyio.sleep(0.01)
        assert not session.questions.open


REGISTERS = """
from tools.registry import registry
registry.register("{name}", "own", {{"name": "{name}", "parameters": {{"type": "object"}}}}, lambda args, **_: '"{name}"')
"""


async def test_two_runtimes_in_one_process_share_no_tool(tmp_path: Path, environ: dict[str, str]) -> None:
    def home(name: str) -> dict[str, str]:
        folder = tmp_path / name / "tools"
        folder.mkdir(parents=True)
        (folder / "own.py").write_text(REGISTERS.format(name=f"tool_of_{name}"))
        return {**environ, "HERMES_HOME": str(tmp_path / name)}

    one_model, other_model = (
        ScriptedModel(call("tool_of_b", {}), say("x")),
        ScriptedModel(call("tool_of_b", {}), say("y")),
    )
    async with (
        open_runtime(environ=home("a"), http=one_model.http()) as one,
        open_runtime(environ=home("b"), http=other_model.http()) as other,
    ):
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=("own",), cwd=tmp_path)
        first, second = await one.session(options), await other.session(options)
        await first.send("go")
        await second.send("go")
        found = [next(m.content for m in s.log if isinstance(m, ToolResult)) for s in (first, second)]
        assert [list(session.tools.tools) for session in (first, second)] == [["tool_of_a"], ["tool_of_b"]]
        assert (found[0].startswith('{"error": "Unknown tool: tool_of_b.'), found[1]) == (True, '"tool_of_b"')
        await first.close()
        await second.close()


def waiting(count: int) -> tuple[Callable[[], None], Callable[[], bool]]:
    """A function that returns once `count` callers are in it, and whether all were."""
    barrier = threading.Barrier(count)

    def meet() -> None:
        barrier.wait(20)

    return meet, lambda: not barrier.broken


async def test_calls_of_async_functions_run_side_by_side_and_plain_ones_where_they_say_so(talk: Talk) -> None:
    meet, met = waiting(2)
    inside, most = 0, 0
    together = anyio.Event()

    @hermes.tool
    async def fetch(name: str) -> str:
        """Wait for the other one."""
        nonlocal inside
        inside += 1
        if inside == 2:
            together.set()
        await together.wait()
        return name

    @hermes.tool(parallel=True)
    def meeting(name: str) -> str:
        """Wait for the other one."""
        meet()
        return name

    @hermes.tool
    def alone(name: str) -> str:
        """Stay alone."""
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        return name

    model = ScriptedModel(
        calls(("fetch", {"name": "a"}), ("fetch", {"name": "b"})),
        calls(("meeting", {"name": "a"}), ("meeting", {"name": "b"})),
        calls(("alone", {"name": "a"}), ("alone", {"name": "b"})),
        say("done"),
    )
    async with talk(model, functions=(fetch, meeting, alone)) as session:
        assert (await session.send("go")).outcome == "done"
    assert (met(), most - 2) == (True, 1)


async def test_people_see_what_writing_over_a_file_changed_and_no_model_pays_for_it(
    talk: Talk, tmp_path: Path
) -> None:
    (tmp_path / "work" / "a.txt").write_text("the former line\n")
    asked: list[str] = []

    def answered(body: Mapping[str, Any]) -> Turn:
        asked.append(json.dumps(body["messages"]))
        return say("done")

    written = call("write_file", {"path": "a.txt", "content": "another line\n"})
    async with talk(ScriptedModel(written, answered), toolsets=("file",)) as session:
        events = await events_of(session, "go")
    (diff,) = [one.diff for one in events if isinstance(one, ToolFinished)]
    assert ("-the former line\n+another line\n" in diff, "former" in asked[0]) == (True, False)
