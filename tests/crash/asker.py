"""A process whose session asks a person: prints a line of JSON for each thing that happens, then waits to be killed or ends with its turn.

Usage: asker.py FOLDER clarify|tool|approve new|SESSION
"""

import json
import sys
from pathlib import Path
from typing import Any

import anyio

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Answered, Asked
from hermes.types.message import ToolResult
from hermes.types.question import Clarify, Reply


def tell(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


@hermes.tool
async def paint(ctx: Any) -> str:
    """Paint the door, in the colour that a person says."""
    answer = await ctx.ask(Clarify(text="Which colour?"))
    colour = answer.text if isinstance(answer, Reply) else "none"
    with Path("ran").open("a") as ran:
        ran.write(f"{colour}\n")
    return colour


WISHES = {
    "clarify": call("paint", {}, call_id="c1"),
    "tool": call("clarify", {"question": "Which colour?", "choices": ["red"]}, call_id="c1"),
    "approve": call("terminal", {"command": "rm -rf plans; echo x >> ran"}, call_id="c1"),
}


async def main(folder: Path, kind: str, resume: str) -> None:
    again = WISHES[kind]
    model = ScriptedModel(again, say("done"))
    environ = {
        "HOME": str(folder), "HERMES_HOME": str(folder / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin",
    }  # fmt: skip
    flags = {"approvals.timeout": 0, "terminal.sandbox": "off"}
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets={"approve": ("terminal",), "tool": ("clarify",)}.get(kind, ()),
                functions=(paint,),
                resume=resume,
                cwd=Path.cwd(),
            )
        )
        tell(session=session.id, left=[one.id for one in session.questions.left_behind])
        async with session.stream("go on" if resume else "paint") as events:
            async for event in events:
                if isinstance(event, Asked):
                    tell(asked=event.id, to=event.to)
                elif isinstance(event, Answered):
                    tell(answered=event.id, by=event.by)
        contents = [message.content for message in session.log if isinstance(message, ToolResult)]
        tell(contents=contents, last=session.log[-1].kind)
        await session.close()


anyio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3] if sys.argv[3] != "new" else "")
