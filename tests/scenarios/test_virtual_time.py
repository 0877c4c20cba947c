"""The core takes its time from the ports: back-off, a question's expiry and a tool's limit pass without waiting."""

import json
from pathlib import Path

import anyio
import pytest

from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, VirtualClock, call, fail, say
from hermes.types.event import Answered, Attempted, ToolFinished, TurnFinished
from hermes.types.message import ToolResult
from hermes.types.question import Deny

pytestmark = pytest.mark.anyio
TOOL = """
import asyncio
from tools.registry import registry

async def hang(args, **kw):
    await asyncio.sleep(1_000_000)

registry.register(
    name="hang", toolset="slow", is_async=True, handler=hang,
    schema={"name": "hang", "description": "Hang.", "parameters": {"type": "object", "properties": {}}},
)
"""


async def test_a_turn_with_back_off_an_unanswered_question_and_a_tool_that_hangs_takes_no_time(
    environ: dict[str, str], tmp_path: Path
) -> None:
    tools, work, clock = Path(environ["HERMES_HOME"]) / "tools", tmp_path / "work", VirtualClock()
    tools.mkdir(parents=True)
    (tools / "hang.py").write_text(TOOL)
    (work / "plans").mkdir(parents=True)
    model = ScriptedModel(
        fail(503, headers={"retry-after": "30"}),
        call("terminal", {"command": "rm -rf plans"}),
        call("hang", {}),
        say("done"),
    )
    async with open_runtime(
        environ=environ,
        http=model.http(),
        ports=clock.ports(SYSTEM_PORTS),
        flags={"terminal.sandbox": "off", "agent.long_seconds": 0, "approvals.timeout": 60},
    ) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=("terminal", "slow"), cwd=work
            )
        )
        with anyio.fail_after(20):
            async with session.stream("go") as stream, anyio.create_task_group() as group:

                async def pass_time() -> None:
                    """Whoever sleeps is woken at once, the first of them first."""
                    while True:
                        await anyio.sleep(0.001)
                        if clock.sleepers:
                            clock.advance(clock.sleepers[0])

                group.start_soon(pass_time)
                events = [event async for event in stream]
                group.cancel_scope.cancel()
        results = [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]
        await session.close()
    silence = Deny(reason="Nobody answered within 60 s, and silence is no consent.")
    assert [one.answer for one in events if isinstance(one, Answered)] == [silence]
    assert results[1] == {"error": "hang did not end within 300 s; it was stopped."}
    assert [one.seconds for one in events if isinstance(one, ToolFinished)] == [0.0, 300.0]
    (waited,) = [one.delay for one in events if isinstance(one, Attempted) and one.failure]
    (end,) = [one for one in events if isinstance(one, TurnFinished)]
    assert (end.outcome, end.usage.requests, round(end.seconds - waited, 6)) == ("done", 4, 360.0)
    assert waited >= 30
