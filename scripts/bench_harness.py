"""The harness beside a loop written by hand, in one run: medians and ratios.

`scripts/bench [NAME …]` runs some of the parts.
"""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import anyio.to_thread
import bench_wires
import httpx2
import psutil
from bench_floor import WIRES, Conversation, append, open_store

import hermes
from hermes.agent.session import Session
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.runtime import Runtime, SessionOptions, open_runtime
from hermes.store.protocol import SessionRow, SessionStore
from hermes.store.sqlite_store import open_store as open_ours
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.dispatch import Dispatcher
from hermes.tools.registry import PROCESS, ToolRegistry, registry
from hermes.tools.schemas import Schemas
from hermes.types.message import Assistant, User

HERE = Path(__file__).parent
TEXT = "The quick brown fox jumps over the lazy dog and reports what it has found. " * 4


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; the ratio is to the floor, where there is one."""

    what: str
    ours: str
    floor: str = ""
    ratio: float | None = None
    goal: str = ""


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
async def runtime(path: Path) -> AsyncIterator[Runtime]:
    """A runtime on an empty home."""
    async with open_runtime(
        environ={"HOME": str(path), "HERMES_HOME": str(path / ".hermes"), "PATH": os.defpath}
    ) as opened:
        yield opened


def options(url: str) -> SessionOptions:
    """A session without tools, so that both sides send the same."""
    return SessionOptions(
        base_url=url, model="m", toolsets=(), system="You are a helpful assistant.", attended=False
    )


def cpu() -> float:
    """Seconds of processor time of this process."""
    return time.process_time()


async def timed(count: int, job: Callable[[], Awaitable[Any]]) -> list[float]:
    """Processor seconds of each of `count` runs."""
    times = []
    for _ in range(count):
        started = cpu()
        await job()
        times.append(cpu() - started)
    return times


async def turns() -> list[Row]:
    """Processor time of a turn, by the length of the history before it."""
    rows = []
    with server(20) as url, folder() as path:
        async with runtime(path) as opened, httpx2.AsyncClient() as http:
            session = await opened.session(options(url))
            floor = Conversation(http, url, path / "floor.db")
            done = 0
            for history in (10, 50, 100, 400):
                while done < history:
                    await session.send(TEXT)
                    await floor.turn(TEXT)
                    done += 1
                pairs = [
                    (
                        sum(await timed(1, lambda: session.send(TEXT))),
                        sum(await timed(1, lambda: floor.turn(TEXT))),
                    )
                    for _ in range(30)
                ]
                done += 30
                ours, by_hand = (median(column) * 1e3 for column in zip(*pairs, strict=True))
                goal = {50: "≤ 2", 400: "≤ 1"}.get(history, "")
                rows.append(
                    Row(
                        f"turn after {history} turns, CPU",
                        f"{ours:.2f} ms",
                        f"{by_hand:.2f} ms",
                        ours / by_hand,
                        goal,
                    )
                )
    return rows


async def chunks() -> list[Row]:
    """Processor time of one streamed chunk, from the difference between long and short replies."""
    measured: dict[int, tuple[float, float]] = {}
    for count in (10, 2010):
        with server(count) as url, folder() as path:
            async with runtime(path) as opened, httpx2.AsyncClient() as http:
                session = await opened.session(options(url))
                floor = Conversation(http, url, None)
                await session.send("hi")
                await floor.turn("hi")
                measured[count] = (
                    median(await timed(9, partial(session.send, "hi"))),
                    median(await timed(9, partial(floor.turn, "hi"))),
                )
    ours, by_hand = ((measured[2010][side] - measured[10][side]) / 2000 * 1e6 for side in (0, 1))
    return [Row("one streamed chunk, CPU", f"{ours:.1f} µs", f"{by_hand:.1f} µs", ours / by_hand, "≤ 2")]


async def sessions() -> list[Row]:
    """Many sessions in one process, ten turns each against a server that takes 200 ms; wall time, memory,
    connections.
    """
    rows: list[Row] = []
    base = 0.0
    for count in (1, 10, 100):
        wall, memory, connections = await _many(count)
        by_hand, _, _ = await _many_by_hand(count)
        base = base or memory
        goal = "≤ 1" if count == 100 else ""
        rows.append(
            Row(
                f"{count} sessions × 10 turns, wall",
                f"{wall:.2f} s",
                f"{by_hand:.2f} s",
                wall / by_hand,
                goal,
            )
        )
        if count == 100:
            rows.append(
                Row("100 sessions, memory over one session", f"{memory - base:.0f} MB", goal="≤ 60 MB")
            )
            rows.append(Row("100 sessions, TCP connections", str(connections), goal="≤ 100"))
    return rows


async def wires() -> list[Row]:
    """Each wire: a turn after 50 and 400 turns, and one streamed chunk."""
    rows = []
    for wire in WIRES:
        with server(20, wire=wire) as url, folder() as path:
            for history, ours, by_hand in await bench_wires.turns(wire, url, path, TEXT):
                goal = "≤ 2" if history == 50 else "≤ 1"
                rows.append(
                    Row(
                        f"{wire}: turn after {history} turns, CPU",
                        f"{ours:.2f} ms",
                        f"{by_hand:.2f} ms",
                        ours / by_hand,
                        goal,
                    )
                )
        measured = {}
        for count in (10, 2010):
            with server(count, wire=wire) as url, folder() as path:
                measured[count] = await bench_wires.replies(wire, url, path)
        ours, by_hand = ((measured[2010][side] - measured[10][side]) / 2000 * 1e6 for side in (0, 1))
        rows.append(
            Row(
                f"{wire}: one streamed chunk, CPU",
                f"{ours:.1f} µs",
                f"{by_hand:.1f} µs",
                ours / by_hand,
                "≤ 2",
            )
        )
    return rows


async def ladder() -> list[Row]:
    """What the ladder costs when all goes well, and how long it takes to go on at another endpoint."""
    ours, bare = await bench_wires.good_path()
    return [
        Row("the ladder on the good path", f"{ours - bare:.0f} µs", f"{bare:.0f} µs in all", None, "≤ 50 µs"),
        Row("from a refusal to the next endpoint", f"{await bench_wires.switching():.2f} ms", goal="≤ 20 ms"),
    ]


async def _many(count: int) -> tuple[float, float, int]:
    with server(20, 0.2) as url, folder() as path:
        async with runtime(path) as opened:
            made = [await opened.session(options(url)) for _ in range(count)]
            before = psutil.Process().memory_info().rss
            started = time.perf_counter()
            await _together([_ten(session.send) for session in made])
            wall = time.perf_counter() - started
            memory = (psutil.Process().memory_info().rss - before) / 1e6
            connections = httpx2.get(url.replace("/v1", "/stats")).json()["connections"]
            for session in made:
                await session.close()
    return wall, memory, connections


async def _many_by_hand(count: int) -> tuple[float, float, int]:
    with server(20, 0.2) as url, folder() as path:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(limits=limits) as http:
            made = [Conversation(http, url, None) for _ in range(count)]
            shared = open_store(path / "floor.db")
            for conversation in made:
                conversation.db = shared
            started = time.perf_counter()
            await _together([_ten(conversation.turn) for conversation in made])
            return time.perf_counter() - started, 0.0, 0


async def _together(jobs: list[Awaitable[None]]) -> None:
    async def run(job: Awaitable[None]) -> None:
        await job

    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(run, job)


async def _ten(turn: Callable[[str], Awaitable[Any]]) -> None:
    for _ in range(10):
        await turn(TEXT)


async def dispatch() -> list[Row]:
    """One call through hooks, checks and size limit."""
    known = ToolRegistry()
    schema = {
        "name": "noop",
        "description": "Nothing.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }

    async def noop(_args: dict[str, Any], **_: Any) -> str:
        return '{"ok": true}'

    def sync_noop(_args: dict[str, Any], **_: Any) -> str:
        return '{"ok": true}'

    known.register("noop", "bench", schema, noop, is_async=True)
    known.register("sync_noop", "bench", {**schema, "name": "sync_noop"}, sync_noop)
    dispatcher, args = Dispatcher(), {"path": "a"}
    plain, threaded = known.get_entry("noop"), known.get_entry("sync_noop")
    assert plain is not None
    assert threaded is not None
    ours = await _microseconds(partial(dispatcher.call, plain, args, {}))
    both = await _microseconds(partial(dispatcher.call, threaded, args, {}))
    bare = await _microseconds(partial(anyio.to_thread.run_sync, partial(sync_noop, args)))
    return [
        Row("dispatch, async no-op", f"{ours:.1f} µs", goal="≤ 15 µs"),
        Row("dispatch, sync no-op", f"{both:.1f} µs", f"{bare:.1f} µs", both / bare, "≤ 100 µs"),
    ]


async def _microseconds(job: Callable[[], Awaitable[Any]]) -> float:
    """The median of nine means over 500 calls; the hand-written side of a sync call is the bare hop to a
    worker thread.
    """
    spent = []
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(500):
            await job()
        spent.append((time.perf_counter() - started) / 500 * 1e6)
    return median(spent)


async def definitions() -> list[Row]:
    """What a session's tools cost, made and remembered."""
    hermes.tool(options)  # loads what functions need, so that it is not counted
    discover_builtin_tools()
    schemas, spent = Schemas(PROCESS), []
    for _ in range(9):
        schemas = Schemas(PROCESS)
        started = time.perf_counter()
        schemas.snapshot(("hermes-cli",))
        spent.append((time.perf_counter() - started) * 1e3)
    started = time.perf_counter()
    for _ in range(2000):
        schemas.snapshot(("hermes-cli",))
    warm = (time.perf_counter() - started) / 2000 * 1e6
    count = len(registry.get_all_tool_names())
    return [
        Row(f"definitions of {count} tools, cold", f"{median(spent):.2f} ms"),
        Row("definitions, warm", f"{warm:.1f} µs", goal="≤ 5 µs"),
    ]


async def parallel() -> list[Row]:
    """Eight tools that sleep half a second, in one reply."""
    from hermes.testing import ScriptedModel, calls  # noqa: PLC0415  # only this part scripts a model

    @hermes.tool
    async def search_files(seconds: float) -> str:
        """Sleep; under a name that may run beside others."""
        await anyio.sleep(seconds)
        return "done"

    eight = calls(*[("search_files", {"seconds": 0.5})] * 8)
    model = ScriptedModel(eight, "done", eight, "done", eight, "done")
    with folder() as path:
        environ = {"HOME": str(path), "HERMES_HOME": str(path / ".hermes")}
        async with hermes.open(
            base_url="http://127.0.0.1:1/v1", tools=[search_files], environ=environ, http=model.http()
        ) as session:
            spent = []
            for _ in range(3):
                started = time.perf_counter()
                await session.send("go")
                spent.append(time.perf_counter() - started)
    return [Row("eight 0.5 s tools in one reply", f"{median(spent):.3f} s", goal="≤ 0.6 s")]


async def store() -> list[Row]:
    """Appending, with little and with much in the store; disk; resuming."""
    with folder() as path, closing(open_store(path / "floor.db")) as by_hand:
        async with open_ours(path / "ours.db", path / "search.db") as kept:
            rows = await _appended(kept, by_hand)
        size = sum(file.stat().st_size for file in path.iterdir() if file.name.startswith(("ours", "search")))
        rows.append(
            Row(
                "disk for each byte of text, index included",
                f"{size / (200_000 * len(TEXT)):.2f} ×",
                goal="≤ 3 ×",
            )
        )
        rows += await _resume(path / "home")
    return rows


async def _appended(kept: SessionStore, by_hand: sqlite3.Connection) -> list[Row]:
    row = SessionRow(
        id="s",
        title="",
        cwd="/",
        branch="",
        model="m",
        source="cli",
        parent="",
        created=0.0,
        updated=0.0,
        messages=0,
        first_text="",
    )
    await kept.create(row, system="system", tools=[])
    ours = [await _one(kept, number) for number in range(2000)]
    hand = [_timed(lambda: append(by_hand, {"role": "user", "content": TEXT})) for _ in range(2000)]
    rows = [
        Row(
            "append, median",
            f"{median(ours) * 1e6:.0f} µs",
            f"{median(hand) * 1e6:.0f} µs",
            median(ours) / median(hand),
            "≤ 1",
        )
    ]
    many = [await _one(kept, number) for number in range(2000, 200_000)]
    rows.append(Row("slowest append up to 200,000 messages", f"{max(many) * 1e3:.1f} ms", goal="≤ 20 ms"))
    started = time.perf_counter()
    await kept.search(TEXT.split(maxsplit=1)[0])
    rows.append(
        Row("indexing 200,000 messages, when first searched", f"{time.perf_counter() - started:.1f} s")
    )
    return rows


async def _one(kept: SessionStore, number: int) -> float:
    message = User(id=f"m{number}", at=float(number), text=TEXT)
    started = time.perf_counter()
    await kept.append("s", message)
    return time.perf_counter() - started


def _timed(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


async def _resume(path: Path) -> list[Row]:
    """Opening a session of 2,000 messages again, to the point where it can send."""
    async with runtime(path) as opened:
        session = await opened.session(options("http://127.0.0.1:1/v1"))
        for number in range(1000):
            await session.append(User(id=f"u{number}", at=0.0, text=TEXT))
            await session.append(Assistant(id=f"a{number}", at=0.0, text=TEXT))
        spent = []
        for _ in range(9):
            started = time.perf_counter()
            again: Session = await opened.session(
                SessionOptions(resume=session.id, base_url="http://127.0.0.1:1/v1", model="m", toolsets=())
            )
            spent.append((time.perf_counter() - started) * 1e3)
        assert again.log == session.log
    return [Row("resuming 2,000 messages", f"{median(spent):.1f} ms", goal="≤ 5 ms")]


async def start() -> list[Row]:
    """Whole processes: help, and one answer from a cold start, against a program that does only that."""
    helped = [_process([sys.executable, "-m", "hermes", "--help"]) for _ in range(7)]
    with server(20) as url, folder() as path:
        environ = {**environment(), "HERMES_HOME": str(path / "home")}
        ours, hand = [], []
        for _ in range(7):
            ours.append(_process([sys.executable, "-m", "hermes", "-z", "hi", "--base-url", url], environ))
            hand.append(_process([sys.executable, str(HERE / "bench_floor.py"), url], environ))
    rows = [Row("hermes --help, wall", f"{median(wall for wall, _, _ in helped):.3f} s", goal="≤ 0.15 s")]
    for index, name, unit in (
        (1, "cold start to an answer, CPU", "s"),
        (2, "cold start to an answer, memory", "MB"),
    ):
        mine, floor = (median(each[index] for each in side) for side in (ours, hand))
        rows.append(
            Row(name, f"{mine:.2f} {unit}", f"{floor:.2f} {unit}", mine / floor, "≤ 2" if index == 1 else "")
        )
    return rows


def _process(command: list[str], environ: dict[str, str] | None = None) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak megabytes of one program."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert process.stderr is not None
    faults = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, faults.decode()
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


PARTS: dict[str, Callable[[], Awaitable[list[Row]]]] = {
    "start": start,
    "turns": turns,
    "chunks": chunks,
    "wires": wires,
    "ladder": ladder,
    "dispatch": dispatch,
    "definitions": definitions,
    "parallel": parallel,
    "sessions": sessions,
    "store": store,
}


def main() -> None:
    """Run the parts named on the command line, or all, and print one Markdown table."""
    chosen = sys.argv[1:] or list(PARTS)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, {os.cpu_count()} cores, Python {sys.version.split()[0]},"
        f" file limit {soft}\n"
    )
    print("| measured | Hermes | by hand | ratio | goal |\n|---|---:|---:|---:|---:|")
    for name in chosen:
        for row in anyio.run(PARTS[name]):
            ratio = "" if row.ratio is None else f"{row.ratio:.2f} ×"
            print(f"| {row.what} | {row.ours} | {row.floor} | {ratio} | {row.goal} |", flush=True)


if __name__ == "__main__":
    main()
