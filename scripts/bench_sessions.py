"""Many conversations in one process, ten turns each against a server that takes 200 ms, all at once.

Each sample is a process of its own: `bench_sessions.py SIDE COUNT TURNS URL FOLDER` prints one.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import httpx2
import psutil
from bench_floor import Conversation, open_store
from bench_measure import HERE, ROUNDS, TEXT, Row, Spent, folder, middle, options, rows, runtime, server

from hermes.lib.http import new_client

TURNS = 10
Turn = Callable[[str], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of all turns, megabytes of the process afterwards, connections that the server saw."""

    cpu: float
    wall: float
    memory: float
    connections: int


async def sessions() -> list[Row]:
    """Processor time and wall of many conversations at once; memory and connections."""
    found: list[Row] = []
    for count, goal in ((100, "≤ 1.1"), (500, "≤ 1.2")):
        samples = measured(("ours", "plain", "stored"), count)
        middles = {
            name: middle([Spent(one.cpu, one.wall) for one in every]) for name, every in samples.items()
        }
        cpu, wall = rows(f"{count} sessions × {TURNS} turns", middles, 1.0, "s")
        found += [cpu, Row(wall.what, wall.ours, wall.plain, wall.stored, wall.unit, f"{goal} plain")]
        connections = median(one.connections for one in samples["ours"])
        found.append(Row(f"{count} sessions, TCP connections", connections, goal=f"≤ {count}"))
    many = measured(("ours", "plain"), 2000, turns=1, rounds=1)
    ours, plain = (many[side][0].memory for side in ("ours", "plain"))
    found.append(
        Row("2,000 live sessions after a turn, memory of the process", ours, plain, None, "MB", "≤ 400 MB")
    )
    return found


def measured(
    sides: tuple[str, ...], count: int, turns: int = TURNS, rounds: int = ROUNDS
) -> dict[str, list[Sample]]:
    """Samples of the sides in turn, each with a server and a home of its own."""
    found: dict[str, list[Sample]] = {name: [] for name in sides}
    for _ in range(rounds):
        for side in sides:
            with server(20, 0.2) as url, folder() as path:
                command = [sys.executable, __file__, side, str(count), str(turns), url, str(path)]
                told = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=HERE).stdout
            found[side].append(Sample(**json.loads(told)))
    return found


@asynccontextmanager
async def _ours(count: int, url: str, path: Path) -> AsyncIterator[list[Turn]]:
    async with runtime(path) as opened:
        made = [await opened.session(options(url)) for _ in range(count)]
        yield [session.send for session in made]
        for session in made:
            await session.close()


@asynccontextmanager
async def _by_hand(count: int, url: str, path: Path, *, stored: bool) -> AsyncIterator[list[Turn]]:
    async with new_client({}) as http:
        made = [Conversation(http, url, None) for _ in range(count)]
        if stored:
            shared = open_store(path / "floor.db")
            for conversation in made:
                conversation.db = shared
        yield [conversation.turn for conversation in made]


SIDES: dict[str, Callable[[int, str, Path], AbstractAsyncContextManager[list[Turn]]]] = {
    "ours": _ours,
    "plain": partial(_by_hand, stored=False),
    "stored": partial(_by_hand, stored=True),
}


async def sample(side: str, count: int, turns: int, url: str, path: Path) -> Sample:
    """One run in this process."""
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(SIDES[side](count, url, path))
        cpu, wall = time.process_time(), time.perf_counter()
        async with anyio.create_task_group() as group:
            for turn in made:
                group.start_soon(_several, turn, turns)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        stats = httpx2.get(url.replace("/v1", "/stats")).json()
        return Sample(cpu, wall, psutil.Process().memory_info().rss / 1e6, stats["connections"])


async def _several(turn: Turn, turns: int) -> None:
    for _ in range(turns):
        await turn(TEXT)


def raise_file_limit() -> None:
    """Allow as many open files as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Print one sample."""
    side, count, turns, url, path = sys.argv[1:]
    raise_file_limit()
    found = anyio.run(sample, side, int(count), int(turns), url, Path(path))
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
