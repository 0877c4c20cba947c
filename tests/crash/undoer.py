"""A process that undoes a turn which had read from outside, and is killed at one of its writes: prints the session's id first.

Usage: undoer.py FOLDER WRITE; it is killed before the write of that number since the undo began, 0 once the undo has ended
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say

READ = call("terminal", {"command": "cp node_modules/pkg/README.md go"})


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A store that ends the process before its write of a number."""

    def __init__(self, store: Any, number: int) -> None:
        self._store, self._left = store, number

    def __getattr__(self, name: str) -> Any:
        if name in {"update", "drop_last"}:
            self._left -= 1
            if self._left == 0:
                die()
        return getattr(self._store, name)


async def main(folder: Path, write: int) -> None:
    async with open_runtime(
        environ=dict(os.environ), http=ScriptedModel(READ, say("read")).http()
    ) as runtime:
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets=("terminal",),
                cwd=folder / "work",
                attended=False,
            )
        )
        await session.send("go")
        sys.stdout.write(f"{session.id}\n")
        sys.stdout.flush()
        deadly: Any = Deadly(session.services.store, write)
        session.services = replace(session.services, store=deadly)
        await session.undo()
        die()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
