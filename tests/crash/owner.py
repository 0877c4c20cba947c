"""A process that works in one session: prints a line of JSON for each thing that happens, then waits to be killed or told to end.

Usage: owner.py FOLDER new|SESSION
"""

import json
import sys
from pathlib import Path

import anyio
import anyio.to_thread

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.error import HermesError
from hermes.types.message import ToolResult


def tell(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def main(folder: Path, resume: str) -> None:
    @hermes.tool(parallel=False)
    async def effect(number: int) -> str:
        """An effect that must not happen twice."""
        tell(ran=number)
        if number == 2:
            await anyio.to_thread.run_sync(sys.stdin.readline)
        return f"did {number}"

    steps = [say("carried on")] if resume else [
        call("effect", {"number": 1}, call_id="c1"),
        calls(("effect", {"number": 2}), ("effect", {"number": 3}), ids=["c2", "c3"]),
        say("done"),
    ]  # fmt: skip
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home")}
    async with open_runtime(environ=environ, http=ScriptedModel(*steps).http()) as runtime:
        options = SessionOptions(
            base_url="http://127.0.0.1:1/v1",
            model="m",
            toolsets=(),
            functions=(effect,),
            resume=resume,
            cwd=folder,
        )
        try:
            session = await runtime.session(options)
            tell(session=session.id)
            end = await session.send("go on" if resume else "do three things")
        except HermesError as error:
            tell(refused=type(error).__name__, pid=getattr(error, "pid", 0), words=str(error))
            return
        contents = [message.content for message in session.log if isinstance(message, ToolResult)]
        failure = end.failure.message if end.failure else ""
        tell(
            outcome=end.outcome,
            failure=failure,
            contents=contents,
            kinds=[message.kind for message in session.log],
        )
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await session.close()


anyio.run(main, Path(sys.argv[1]), sys.argv[2] if sys.argv[2] != "new" else "")
