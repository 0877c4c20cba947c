"""A process whose session has children at work: prints a line of JSON once they are, then waits to be killed.

Usage: delegator.py FOLDER wait|background
"""

import json
import sys
from pathlib import Path

import anyio

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import call, say
from tests.scenarios.family import FamilyModel


async def main(folder: Path, how: str) -> None:
    held = 0

    @hermes.tool(outside=False)
    async def hold() -> str:
        """Hold until the end."""
        nonlocal held
        held += 1
        Path("alive").write_text(str(held))
        if held == 2:
            line = {
                "session": session.id,
                "children": [run.standing.child for run in session.children.living],
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
        await anyio.sleep_forever()
        return ""

    tasks = {"tasks": [{"goal": "dig here"}, {"goal": "dig there"}], "background": how == "background"}
    script = [call("hold", {}, text="Half dug.", call_id="h1"), say("never")]
    model = FamilyModel(
        {
            "go": [call("delegate_task", tasks, call_id="d1"), say("ok")],
            "dig here": script,
            "dig there": script,
        }
    )
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home")}
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=("delegation",), functions=(hold,),
                cwd=Path.cwd(),
            )
        )  # fmt: skip
        await session.send("go")
        await anyio.sleep_forever()


anyio.run(main, Path(sys.argv[1]), sys.argv[2])
