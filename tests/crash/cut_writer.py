"""A process that is killed in mid-turn: its turn has written `made.txt` and over `a.txt`; prints the session's id first.

Usage: cut_writer.py FOLDER [child], which has the workspace `work`; with `child` a child of the session does it
"""

import os
import signal
import sys
from pathlib import Path

import anyio

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import call
from tests.scenarios.family import FamilyModel, task


@hermes.tool
def die() -> str:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


async def main(folder: Path, *child: str) -> None:
    writes = (
        call("write_file", {"path": "made.txt", "content": "begun\n"}),
        call("write_file", {"path": "a.txt", "content": "begun\n"}),
        call("die", {}),
    )
    own = [call(*task("do it for me"))] if child else writes
    model = FamilyModel({"write": own, "do it for me": writes})
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets=("file", "delegation"),
                functions=(die,),
                cwd=folder / "work",
                attended=False,
            )
        )
        sys.stdout.write(session.id)
        sys.stdout.flush()
        await session.send("write")


anyio.run(main, Path(sys.argv[1]), *sys.argv[2:])
