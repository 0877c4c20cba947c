"""What scripts that call tools cost: one that prints, and one that reads files, beside the same by calls."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from bench_measure import Row, folder, in_turn

from hermes.agent.code_execution.tools_module import module_text
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, Turn, call, say
from hermes.types.script import Script
from hermes.types.workspace import ExecResult

READS = 20
SCRIPT = (
    f"from hermes_tools import read_file\nfor n in range({READS}):\n    read_file(f'{{n}}.txt')\nprint(1)"
)
COMMAND = "python3 - <<'END'\nprint(1)\nEND"


class Answers(ScriptedModel):
    """Makes the calls that the user's word stands for, one in each step, then says so."""

    def next(self, body: bytes) -> Turn:
        """The reply that fits the request."""
        messages = json.loads(body)["messages"]
        at = max(number for number, one in enumerate(messages) if one["role"] == "user")
        word, made = messages[at]["content"], sum(one["role"] == "tool" for one in messages[at:])
        match word:
            case "reads" if made < READS:
                return call("read_file", {"path": f"{made}.txt"})
            case "command" if not made:
                return call("terminal", {"command": COMMAND})
            case "print" | "script" if not made:
                return call("execute_code", {"code": SCRIPT if word == "script" else "print(1)"})
            case _:
                return say("Done.")


async def code() -> list[Row]:
    """Wall of turns: a script over the same command, and calls in a script over calls of the model."""
    with folder() as path:
        for number in range(READS):
            (path / f"{number}.txt").write_text("a line\n" * 100)
        environ = {"HOME": str(path), "HERMES_HOME": str(path / ".hermes"), "PATH": "/usr/bin:/bin"}
        async with open_runtime(environ=environ, http=Answers().http()) as opened:
            session = await opened.session(_options(path))
            words = ("command", "print", "reads", "script")
            for word in words:
                await session.send(word)  # what is imported once is in no row
            found = await in_turn({word: partial(_turn, session, word) for word in words}, 9)
            await session.close()
            session = await opened.session(_options(path))
            space = session.workspace
            ways = {"fresh": space.run_script, "kernel": space.run_in_kernel}
            found |= await in_turn({word: partial(_call, run) for word, run in ways.items()}, 9)
            await session.close()
    wall = {word: one.wall * 1000 for word, one in found.items()}
    return [
        Row(
            "print(1) in a warm kernel, over a fresh process, wall", wall["kernel"], wall["fresh"], None, "ms"
        ),
        Row("a script that prints, over the same command, wall", wall["print"], wall["command"], None, "ms"),
        Row(f"{READS} files read by a script, over as many calls", wall["script"], wall["reads"], None, "ms"),
    ]


def _options(path: Path) -> SessionOptions:
    return SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=("file", "terminal", "code_execution"),
        cwd=path, attended=False,
    )  # fmt: skip


async def _call(run: Callable[..., Awaitable[ExecResult]]) -> None:
    await run(Script(code="print(1)"), module=module_text(()), answer=_nothing, timeout=60)


async def _nothing(request: bytes) -> bytes:
    return request


async def _turn(session: Session, word: str) -> None:
    await session.send(word)
