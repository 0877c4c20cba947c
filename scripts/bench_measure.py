"""What all measurements share: a row of the table, sides measured in turn, a server, an empty home."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct

from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.store.protocol import SessionRow

HERE = Path(__file__).parent
TEXT = "The quick brown fox jumps over the lazy dog and reports what it has found. " * 4
ROUNDS = 5


class Row(Struct, frozen=True):
    """One line of the table, as numbers of one unit: of Hermes, of the plain loop, and of the loop that keeps
    a store as Hermes does; None where there is no such side.
    """

    what: str
    ours: float
    plain: float | None = None
    stored: float | None = None
    unit: str = ""
    goal: str = ""

    def cells(self) -> str:
        """The line in Markdown, with the ratios to both sides."""
        shown = [_shown(self.ours, self.unit)]
        for side in (self.plain, self.stored):
            shown += (
                ["", ""] if side is None else [_shown(side, self.unit), f"{self.ours / (side or 1e-9):.2f} ×"]
            )
        return f"| {self.what} | {' | '.join(shown)} | {self.goal} |"


HEAD = (
    "| measured | Hermes | plain loop | ratio | loop with a store | ratio | goal |\n"
    "|---|---:|---:|---:|---:|---:|---:|"
)


def _shown(value: float, unit: str) -> str:
    digits = 3 if unit == "s" else 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:.{digits}f} {unit}".strip()


class Spent(Struct, frozen=True):
    """Seconds of this process's processors, and of the clock."""

    cpu: float
    wall: float


async def spent(job: Callable[[], Awaitable[Any]]) -> Spent:
    """What one run of a job took."""
    cpu, wall = time.process_time(), time.perf_counter()
    await job()
    return Spent(time.process_time() - cpu, time.perf_counter() - wall)


async def in_turn(
    sides: Mapping[str, Callable[[], Awaitable[Any]]], rounds: int = ROUNDS
) -> dict[str, Spent]:
    """The medians of sides that run one after the other, beginning with another one in each round."""
    found: dict[str, list[Spent]] = {name: [] for name in sides}
    names = list(sides)
    for _ in range(rounds):
        for name in names:
            found[name].append(await spent(sides[name]))
        names = [*names[1:], names[0]]
    return {name: middle(times) for name, times in found.items()}


def middle(times: list[Spent]) -> Spent:
    """The median of each figure."""
    return Spent(median(one.cpu for one in times), median(one.wall for one in times))


def rows(what: str, sides: Mapping[str, Spent], scale: float, unit: str, goal: str = "") -> list[Row]:
    """Two lines, processor time (which the goal is for) and wall; the sides are ours, plain and stored."""
    found = []
    for kind, aim in (("cpu", goal), ("wall", "")):
        values = {name: getattr(one, kind) * scale for name, one in sides.items()}
        row = Row(
            f"{what}, {'CPU' if kind == 'cpu' else kind}",
            values["ours"],
            values.get("plain"),
            values.get("stored"),
            unit,
            aim,
        )
        found.append(row)
    return found


@contextmanager
def server(chunks: int, delay: float = 0.0, wire: str = "chat_completions") -> Iterator[str]:
    """The address of a fresh server in a process of its own."""
    command = [sys.executable, str(HERE / "bench_server.py"), str(chunks), str(delay), wire]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="hermes-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@asynccontextmanager
async def runtime(path: Path, **settings: Any) -> AsyncIterator[Runtime]:
    """A runtime on an empty home; settings by their names, with __ for the dots."""
    flags = {name.replace("__", "."): value for name, value in settings.items()}
    environ = {"HOME": str(path), "HERMES_HOME": str(path / ".hermes"), "PATH": os.defpath}
    async with open_runtime(environ=environ, flags=flags) as opened:
        yield opened


def options(url: str) -> SessionOptions:
    """A session without tools, so that all sides send the same."""
    return SessionOptions(
        base_url=url, model="m", toolsets=(), system="You are a helpful assistant.", attended=False
    )


def stored_row(session_id: str) -> SessionRow:
    """A session for a store that is used by itself."""
    return SessionRow(id=session_id, cwd="/", model="m", source="cli", created=0.0, updated=0.0)
