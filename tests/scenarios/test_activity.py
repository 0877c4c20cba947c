"""A session says what it does: to whoever asks, by notices, and when its time is over."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, VirtualClock, call, say
from hermes.tools.function import tool
from hermes.types.event import Notice, ToolStarted
from hermes.types.message import Message, ToolResult

pytestmark = pytest.mark.anyio


async def passed(clock: VirtualClock, seconds: float) -> None:
    """Let time pass in steps of ten seconds, and everybody who wakes do their part."""
    for _ in range(int(seconds / 10)):
        clock.advance(10)
        await anyio.wait_all_tasks_blocked()


async def turn(environ: dict[str, str], tmp_path: Path, **flags: float) -> tuple[list[str], list[str], str]:
    """The notices of a turn whose only call takes ten minutes, what was done at its middle, and its end."""
    told, doing, log = await logged_turn(environ, tmp_path, **flags)
    return told, doing, getattr(log[-1], "text", "")


async def logged_turn(
    environ: dict[str, str], tmp_path: Path, **flags: float
) -> tuple[list[str], list[str], Sequence[Message]]:
    """The same with its log."""
    clock, begun = VirtualClock(), anyio.Event()

    @tool
    async def dig(place: str) -> str:
        """Dig."""
        begun.set()
        await clock.sleep(600)
        return f"dug {place}"

    model = ScriptedModel(call("dig", {"place": "here"}), say("dug"))
    told: list[str] = []
    async with open_runtime(
        environ=environ, http=model.http(), ports=clock.ports(SYSTEM_PORTS), flags=dict(flags)
    ) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), functions=(dig,), cwd=tmp_path
            )
        )
        async with session.stream("go") as stream, anyio.create_task_group() as group:

            async def watch() -> None:
                with session.watch() as events:
                    async for event in events:
                        told.extend([event.text] if isinstance(event, Notice) else [])

            group.start_soon(watch)
            async for event in stream:
                if isinstance(event, ToolStarted):
                    await begun.wait()
                    break
            await passed(clock, 300)
            middle = [session.activity.now.words]
            await passed(clock, 310)
            async for _ in stream:
                pass
            group.cancel_scope.cancel()
        middle.append(session.activity.now.words)
        await session.close()
    return told, middle, session.log


async def test_a_long_call_is_told_of_ever_more_seldom(environ: dict[str, str], tmp_path: Path) -> None:
    told, doing, end = await turn(environ, tmp_path)
    assert told == [
        "Still at it: running dig here, 1m 00s, no output yet.",
        "Still at it: running dig here, 2m 00s, no output yet.",
        "Still at it: running dig here, 4m 00s, no output yet.",
        "Still at it: running dig here, 8m 00s, no output yet.",
    ]
    assert (doing, end) == (["running dig here", "idle"], "dug")


async def test_no_notice_comes_where_none_is_wanted(environ: dict[str, str], tmp_path: Path) -> None:
    assert await turn(environ, tmp_path, **{"agent.long_seconds": 0}) == (
        [],
        ["running dig here", "idle"],
        "dug",
    )


async def test_a_turn_is_stopped_at_its_time_limit_and_says_what_it_was_doing(
    environ: dict[str, str], tmp_path: Path
) -> None:
    flags = {"agent.long_seconds": 0, "budget.turn_seconds": 120}
    told, doing, end = await turn(environ, tmp_path, **flags)
    assert (told, doing[-1]) == ([], "idle")
    assert end == (
        "(No reply: The time budget of this turn is spent: 120 s; it was running dig here, 2m 00s, no output"
        " yet. hermes config set budget.turn_seconds raises it.)"
    )


async def test_a_call_that_the_time_limit_cut_is_not_told_as_the_users_doing(
    environ: dict[str, str], tmp_path: Path
) -> None:
    _, _, log = await logged_turn(environ, tmp_path, **{"agent.long_seconds": 0, "budget.turn_seconds": 120})
    (result,) = (one for one in log if isinstance(one, ToolResult))
    assert json.loads(result.content) == {
        "error": "The call was stopped as the time for this turn was over; what it had done until then stands.",
        "status": "interrupted",
    }
