"""A process whose session has children at work: prints a line of JSON once they are, then waits to be killed.

Usage: delegator.py FOLDER wait|background|family-wait|family-background; in a family the child has written a file, and its own child reads a page and has
written another one
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

    @hermes.tool(outside=True)
    def page() -> str:
        """A page."""
        return "its words"

    @hermes.tool(outside=False)
    async def hold() -> str:
        """Hold until the end."""
        nonlocal held
        held += 1
        Path("alive").write_text(str(held))
        if held == (1 if how.startswith("family") else 2):
            line = {
                "session": session.id,
                "children": [run.standing.child for run in session.children.living],
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
        await anyio.sleep_forever()
        return ""

    background = how.endswith("background")
    tasks = {"tasks": [{"goal": "dig here"}, {"goal": "dig there"}], "background": background}
    script = [call("hold", {}, text="Half dug.", call_id="h1"), say("never")]
    below = {
        "go": [
            call("delegate_task", {"goal": "dig deep", "role": "orchestrator", "background": background}),
            say("ok"),
        ],
        "dig deep": [
            call("write_file", {"path": "by_child", "content": "x"}),
            call("delegate_task", {"goal": "look outside"}, text="I have begun."),
        ],
        "look outside": [
            call("page", {}),
            call("write_file", {"path": "by_grandchild", "content": "its words"}),
            call("hold", {}),
        ],
    }
    model = FamilyModel(
        below
        if how.startswith("family")
        else {
            "go": [call("delegate_task", tasks, call_id="d1"), say("ok")],
            "dig here": script,
            "dig there": script,
        }
    )
    (folder / "home").mkdir()
    (folder / "home" / "config.yaml").write_text("delegation: {max_spawn_depth: 2}\n")
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home")}
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=("delegation", "file"), functions=(hold, page),
                cwd=Path.cwd(),
            )
        )  # fmt: skip
        await session.send("go")
        await anyio.sleep_forever()


anyio.run(main, Path(sys.argv[1]), sys.argv[2])
