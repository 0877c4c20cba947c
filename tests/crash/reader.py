"""A process whose session runs one call that reads from outside and then waits: prints the session's id first.

Usage: reader.py FOLDER command|script|ended; `ended`: the script's call that read has ended, and the script waits
"""

import os
import sys
from pathlib import Path

import anyio

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say

COPY = "cp node_modules/pkg/README.md go"
CALLS = {
    "command": call("terminal", {"command": f"{COPY}; sleep 77"}),
    "script": call(
        "execute_code", {"code": f"from hermes_tools import terminal\nterminal('{COPY}; sleep 77')"}
    ),
    "ended": call(
        "execute_code",
        {"code": f"import time\nfrom hermes_tools import terminal\nterminal('{COPY}')\ntime.sleep(77)"},
    ),
}


async def main(folder: Path, how: str) -> None:
    model = ScriptedModel(CALLS[how], say("never"))
    async with open_runtime(environ=dict(os.environ), http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets=("terminal", "code_execution"),
                cwd=folder / "work",
                attended=False,
            )
        )
        sys.stdout.write(f"{session.id}\n")
        sys.stdout.flush()
        await session.send("go")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
