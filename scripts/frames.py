"""Counts our own frames on the three ways of a turn, by running one against a scripted model.

A frame counts when its file lies below src/hermes, the test doubles apart; each coroutine that waits is one.
The verb that a way begins with counts; the handler, the HTTP client and the queue that it ends at do not.
"""

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

import hermes
from hermes.agent.listeners import Listener
from hermes.agent.spec import SessionOptions
from hermes.models import client
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, Turn, call, say
from hermes.types.event import TextDelta

OURS = Path(hermes.__file__).parent
GOALS = {"send to a tool's handler": 6, "send to the HTTP client": 6, "delta to a listener's queue": 4}


def way(frame: FrameType | None, begin: str) -> list[str]:
    """The names of our frames from the outermost one named `begin` to `frame`, the callers first."""
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(OURS) and "testing" not in Path(code.co_filename).parts:
            names.insert(0, code.co_qualname)
        frame = frame.f_back
    return names[names.index(begin) :] if begin in names else []


async def measure(folder: Path) -> dict[str, list[str]]:
    """One turn of two requests and one call; the frames of each way."""
    found: dict[str, list[str]] = {}

    @hermes.tool
    async def weather(city: str) -> str:
        """Give the weather.

        Args:
            city: where.
        """
        # the entry's handler is the wrapper that reads the arguments: the way ends before it
        found["send to a tool's handler"] = way(sys._getframe(2), "Session.send")  # noqa: SLF001
        return f"4 degrees in {city}"

    def requested(request: dict[str, Any]) -> Turn:
        del request
        found["send to the HTTP client"] = way(sys._getframe(1), "Session.send")  # noqa: SLF001
        return call("weather", {"city": "Oslo"})

    def entered(frame: FrameType, event: str, _: object) -> None:
        put = event == "call" and frame.f_code is Listener.put.__code__
        if put and isinstance(frame.f_locals["event"], TextDelta):
            names = way(frame.f_back, client.send.__qualname__)
            found["delta to a listener's queue"] = names[1:]  # `send` hands the delta on

    model = ScriptedModel(requested, say("It is 4 degrees in Oslo."))
    environ = {
        "HERMES_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "sk-frames-only",
        "PATH": "/usr/bin:/bin",
    }
    options = SessionOptions(
        model="frames",
        base_url="http://model.invalid/v1",
        toolsets=(),
        functions=(weather,),
        cwd=folder,
        attended=False,
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options)
        with session.watch():
            sys.setprofile(entered)
            try:
                await session.send("How is the weather in Oslo?")
            finally:
                sys.setprofile(None)
        await session.close()
    return found


def main() -> None:
    """Print the three ways."""
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(measure, Path(folder))
    for name, goal in GOALS.items():
        print(f"{name}: {len(found[name])} frames (goal {goal}): {' > '.join(found[name])}")


if __name__ == "__main__":
    main()
