"""What children cost: a turn that hands eight tasks on, beside eight sessions that do the same work."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from bench_measure import Row, Spent, folder, in_turn

from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, Turn, call, say

CHILDREN = 8
PLAN = {"todos": [{"id": "1", "content": "look", "status": "pending"}]}


class Answers(ScriptedModel):
    """A parent that delegates once, and children that make one call each before they answer."""

    def next(self, body: bytes) -> Turn:
        """The reply that fits the request."""
        messages = json.loads(body)["messages"]
        if messages[-1]["role"] == "tool":
            return say("Done: it is looked at, and here is what was found.")
        if "delegate" in messages[-1]["content"]:
            tasks = [{"goal": f"look at part {number}"} for number in range(CHILDREN)]
            return call("delegate_task", {"tasks": tasks})
        return call("todo", PLAN)


async def delegation() -> list[Row]:
    """Processor time and wall of a child over those of a session of its own."""
    with folder() as path:
        environ = {"HOME": str(path), "HERMES_HOME": str(path / ".hermes"), "PATH": "/usr/bin:/bin"}
        flags = {"delegation.max_concurrent_children": CHILDREN}
        async with open_runtime(environ=environ, http=Answers().http(), flags=flags) as opened:
            await _turn(opened, path, "delegate it")  # what is imported once is in no row
            sides: dict[str, Callable[[], Awaitable[Any]]] = {
                "family": lambda: _turn(opened, path, "delegate it"),
                "sessions": lambda: _several(opened, path),
                "parent": lambda: _turn(opened, path, "look at it"),
            }
            found = await in_turn(sides, 7)
    return [
        Row(f"a child of {CHILDREN}, over a session of its own, {kind}", value, None, None, "ms", goal)
        for kind, value, goal in (
            ("CPU", _over(found, "cpu"), "≤ 30 ms"),
            ("wall", _over(found, "wall"), ""),
        )
    ]


def _over(found: dict[str, Spent], kind: str) -> float:
    """Milliseconds that one child takes more than a session, of `cpu` or `wall`."""
    family, sessions, parent = (getattr(found[side], kind) for side in ("family", "sessions", "parent"))
    return float(family - parent - sessions) * 1000 / CHILDREN


async def _turn(opened: Runtime, path: Path, text: str) -> None:
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=("todo", "file", "delegation"), cwd=path,
        attended=False,
    )  # fmt: skip
    session = await opened.session(options)
    await session.send(text)
    await session.close()


async def _several(opened: Runtime, path: Path) -> None:
    async with anyio.create_task_group() as group:
        for number in range(CHILDREN):
            group.start_soon(_turn, opened, path, f"look at part {number}")
