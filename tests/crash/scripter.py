"""A process whose session runs a script: prints a line of JSON once a call of it runs, then waits to be killed.

Usage: scripter.py FOLDER MODE [kernel] [free]
"""

import json
import sys
from functools import partial
from pathlib import Path

import anyio

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say

FREE = {"terminal.sandbox": "off", "approvals.mode": "off"}
CODE = """
import os, subprocess, time
subprocess.Popen(["setsid", "sleep", "618"])
from hermes_tools import hold, write_file
write_file("done.txt", "x")
open("pid", "w").write(open("/proc/self/stat").read().split()[0])
hold()
time.sleep(600)
"""


async def main(folder: Path, *words: str) -> None:
    @hermes.tool(outside=False)
    async def hold() -> str:
        """Hold until the end."""
        sys.stdout.write(json.dumps({"session": session.id}) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()
        return ""

    model = ScriptedModel(call("execute_code", {"code": CODE}, call_id="s1"), say("never"))
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    async with open_runtime(
        environ=environ,
        http=model.http(),
        flags={
            "code_execution.mode": words[0],
            "code_execution.kernel": "kernel" in words,
            **(FREE if "free" in words else {}),
        },
    ) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=("file", "code_execution"),
                functions=(hold,), cwd=folder / "work",
            )
        )  # fmt: skip
        await session.send("go")


anyio.run(partial(main, Path(sys.argv[1]), *sys.argv[2:]))
