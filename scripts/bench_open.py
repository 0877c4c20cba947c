"""What an open system costs: a start with many skills, plugins and servers, a call of an MCP server, a hook.

`scripts/bench open`. Floors: the same start with an empty home, the same call by the library alone.
"""

import asyncio
import json
import os
import pty
import select
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import mcp

from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.hooks import Hooks
from hermes.runtime import Runtime, open_runtime
from hermes.skills.index import index_text
from hermes.skills.library import SkillLibrary

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests" / "mcp_servers" / "hostile_server.py"
CALLS, STARTS, HOOK_CALLS = 300, 9, 20_000
READY = b"\x1b[?2004h"
"""What a terminal is sent when keys may be typed: pasted text is marked from then on."""


def command(folder: Path) -> list[str]:
    """A small server that does what it should."""
    return [sys.executable, "-I", str(SERVER), "is good", str(folder)]


def fill(home: Path, folder: Path) -> None:
    """A home with 50 skills, 20 plugins and 5 servers, all of them known already."""
    for number in range(50):
        place = home / "skills" / "more" / f"skill-{number}"
        place.mkdir(parents=True)
        words = "---\nname: skill-{0}\ndescription: Does the {0}th thing well, when asked.\n---\nDo it.\n"
        (place / "SKILL.md").write_text(words.format(number))
    names = [f"plugin-{number}" for number in range(20)]
    for name in names:
        (home / "plugins" / name).mkdir(parents=True)
        (home / "plugins" / name / "plugin.yaml").write_text(
            f"name: {name}\nversion: '1'\ndescription: One of many.\n"
        )
        (home / "plugins" / name / "__init__.py").write_text("def register(ctx):\n    pass\n")
    program, *arguments = command(folder)
    servers = {f"server{one}": {"command": program, "args": arguments, "trust": "full"} for one in range(5)}
    settings: dict[str, Any] = {"mcp_servers": servers, "plugins": {"enabled": names}}
    (home / "config.yaml").write_text(json.dumps(settings))


def to_prompt(environ: dict[str, str]) -> float:
    """Seconds from the start of the program until keys may be typed."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(  # noqa: S606  # no shell is what is measured
            sys.executable,
            [sys.executable, "-m", "hermes", "--base-url", "http://127.0.0.1:9/v1", "-m", "x"],
            environ,
        )
    seen = b""
    try:
        while READY not in seen:
            ready, _, _ = select.select([terminal], [], [], 30)
            assert ready, seen
            seen += os.read(terminal, 65_536)
        return time.perf_counter() - began
    finally:
        os.write(terminal, b"\x04")
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


@contextmanager
def home() -> Iterator[tuple[Path, Path]]:
    """A home and a folder for servers."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as top:
        (Path(top) / "home").mkdir()
        (Path(top) / "kept").mkdir()
        yield Path(top) / "home", Path(top) / "kept"


def in_home(place: Path) -> dict[str, str]:
    """The environment of a program on that home."""
    return {
        **environment(),
        "HERMES_HOME": str(place),
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT / "src"),
    }


async def known(place: Path) -> None:
    """Have the servers known, as they are after the first day."""
    async with open_runtime(environ=in_home(place)) as runtime:
        for name in runtime.mcp.names:
            await runtime.mcp.connect(name)


async def timed(call: Callable[[], Awaitable[object]]) -> list[float]:
    """Milliseconds of many calls, one after the other."""
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        times.append(1e3 * (time.perf_counter() - began))
    return times


async def calls(place: Path, folder: Path) -> tuple[float, float]:
    """Milliseconds of a call by us, through the sandbox, and by the library alone; in turn, medians."""
    program, *arguments = command(folder)
    async with open_runtime(environ=in_home(place)) as runtime:
        await runtime.mcp.connect("server0")
        entry = runtime.registry.get_entry("mcp__server0__echo")
        assert entry is not None
        bare = mcp.StdioServerParameters(command=program, args=arguments)
        async with mcp.Client(bare) as client:
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(3):
                ours += await timed(lambda: dispatched(runtime, entry))
                theirs += await timed(lambda: client.call_tool("echo", {"text": "hi"}))
    return median(ours), median(theirs)


async def dispatched(runtime: Runtime, entry: Any) -> None:
    """One call by the road of a session's."""
    output = await runtime.services.dispatcher.call(entry, {"text": "hi"}, {})
    assert output.content == '{"result": "hi"}'


async def hook() -> float:
    """Microseconds of a hook point at which nobody listens."""
    hooks = Hooks()
    began = time.perf_counter()
    for _ in range(HOOK_CALLS):
        if "pre_tool_call" in hooks:
            await hooks.observe("pre_tool_call")
    return 1e6 * (time.perf_counter() - began) / HOOK_CALLS


def main() -> None:
    """Print one Markdown table."""
    load, version = os.getloadavg()[0], sys.version.split()[0]
    print(f"{SYSTEM_PORTS.now():.0f} epoch seconds, load {load:.1f}, Python {version}")
    print("| measured | Hermes | floor | ratio | goal |\n|---|---:|---:|---:|---:|")
    with home() as (place, folder), home() as (empty, _):
        fill(place, folder)
        asyncio.run(known(place))
        full, bare = [], []
        for _ in range(STARTS):
            full.append(to_prompt(in_home(place)))
            bare.append(to_prompt(in_home(empty)))
        ours, floor = median(full), median(bare)
        start = "to the prompt, 50 skills, 20 plugins, 5 servers"
        print(f"| {start} | {ours:.3f} s | {floor:.3f} s | {ours / floor:.2f} × | ≤ 0.4 s |")
        cached(place)
        index = median(cached(place) for _ in range(20))
        print(f"| skills index from cache | {index:.2f} ms | | | ≤ 5 ms |")
        ours, floor = asyncio.run(calls(place, folder))
        print(
            f"| a call of an MCP server | {ours:.2f} ms | {floor:.2f} ms | {ours / floor:.2f} × | ≤ 1.2 × |"
        )
    print(f"| a hook point without listeners | {asyncio.run(hook()):.2f} µs | | | ≤ 10 µs |")


def cached(place: Path) -> float:
    """Milliseconds of the index by a process that begins with what is on disk."""
    began = time.perf_counter()
    index_text(SkillLibrary([place / "skills"], place / "cache" / "skills.json", ()).skills())
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
