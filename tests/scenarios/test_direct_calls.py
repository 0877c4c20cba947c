"""Calls that an app makes in a session by itself take the road of a model's, and stand in no log."""

import json
from pathlib import Path

import anyio
import pytest

from hermes.agent.spec import SessionOptions
from hermes.lib.aio import beside
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel
from hermes.types.error import HermesError
from hermes.types.event import ToolStarted
from hermes.types.message import ToolCall, ToolResult

pytestmark = pytest.mark.anyio


def asked(name: str, number: int = 1, **arguments: object) -> ToolCall:
    return ToolCall(id=f"own-{number}", name=name, arguments=arguments)


def options(work: Path) -> SessionOptions:
    return SessionOptions(
        model="m",
        base_url="http://127.0.0.1:9/v1",
        attended=False,
        toolsets=("terminal", "file", "todo"),
        cwd=work,
    )


async def test_calls_of_an_app_give_results_and_leave_no_message(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    model = ScriptedModel("Fine.")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options(tmp_path))
        read, refused, unknown = await session.run_calls(
            asked("read_file", 1, path="a.txt"), asked("terminal", 2, command="rm -rf /"), asked("nothing", 3)
        )
        assert json.loads(read.content)["content"] == "1|one"
        assert (refused.failed, json.loads(refused.content)["status"]) == (True, "blocked")
        assert json.loads(unknown.content)["error"].startswith("Unknown tool: nothing.")
        assert session.log == ()
        assert (await session.send("Hello")).text == "Fine."
        assert (await runtime.store.load(session.id)).begun == {}


async def test_calls_of_an_app_do_not_run_beside_a_turn_and_end_by_an_interrupt(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        session = await runtime.session(options(tmp_path))

        results: list[ToolResult] = []

        async def call() -> None:
            results.extend(await session.run_calls(asked("terminal", command="sleep 100")))

        with anyio.fail_after(60), session.watch() as events:
            async with beside(call):
                async for event in events:
                    if isinstance(event, ToolStarted):
                        break
                with pytest.raises(HermesError, match="A turn is running"):
                    await session.run_calls(asked("todo", 2))
                session.interrupt()
        assert [json.loads(one.content)["status"] for one in results] == ["interrupted"]
        assert not session.busy
