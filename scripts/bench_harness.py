"""The harness beside two loops written by hand, in one run: medians and ratios.

The plain loop is the one that anyone would write on the same HTTP client; the other keeps every message in a
database, as Hermes does. `scripts/bench [NAME …]` runs some of the parts.
"""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import anyio.to_thread
import bench_wires
from bench_code import code
from bench_delegation import delegation
from bench_floor import WIRES, Conversation, append, open_store, read, with_tools
from bench_measure import (
    HEAD,
    HERE,
    ROUNDS,
    TEXT,
    Row,
    Spent,
    folder,
    in_turn,
    middle,
    options,
    rows,
    runtime,
    server,
    spent,
    stored_row,
)
from bench_recall import recall
from bench_search import search
from bench_sessions import raise_file_limit, sessions
from msgspec.structs import replace

import hermes
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.lib.http import new_client
from hermes.store.protocol import SessionStore
from hermes.store.sqlite_store import open_store as open_ours
from hermes.testing import ScriptedModel, calls, say
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.dispatch import Dispatcher
from hermes.tools.registry import PROCESS, ToolRegistry, registry
from hermes.tools.schemas import Schemas
from hermes.types.message import Assistant, User


@asynccontextmanager
async def conversations(url: str, path: Path) -> AsyncIterator[dict[str, Callable[[str], Awaitable[Any]]]]:
    """One conversation of each side: its turn."""
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(runtime(path))
        http = await stack.enter_async_context(new_client({}))
        yield {
            "ours": (await opened.session(options(url))).send,
            "plain": Conversation(http, url, None).turn,
            "stored": Conversation(http, url, path / "floor.db").turn,
        }


async def turns() -> list[Row]:
    """A turn, by the number of turns before it."""
    found = []
    with server(20) as url, folder() as path:
        async with conversations(url, path) as sides:
            done = 0
            for history, goal in ((50, "≤ 1.4 plain"), (400, "≤ 1 plain")):
                for _ in range(history - done):
                    for turn in sides.values():
                        await turn(TEXT)
                each = {name: partial(turn, TEXT) for name, turn in sides.items()}
                found += rows(f"turn after {history} turns", await in_turn(each, 25), 1e3, "ms", goal)
                done = history + 25
    return found


async def chunks() -> list[Row]:
    """One streamed chunk, from the difference between long and short replies."""
    count, more = 10, 2000
    with server(count) as short, server(count + more) as long, folder() as path:
        (path / "long").mkdir()
        async with conversations(short, path) as brief, conversations(long, path / "long") as lengthy:
            found: dict[str, list[Spent]] = {name: [] for name in brief}
            for _ in range(1 + ROUNDS):
                for name, times in found.items():
                    less, much = (
                        await spent(partial(brief[name], "hi")),
                        await spent(partial(lengthy[name], "hi")),
                    )
                    times.append(Spent((much.cpu - less.cpu) / more, (much.wall - less.wall) / more))
    warm = {name: middle(times[1:]) for name, times in found.items()}
    return rows("one streamed chunk", warm, 1e6, "µs", "≤ 1.2 plain")


async def wires() -> list[Row]:
    """Each wire: a turn after 50 and 400 turns, and one streamed chunk."""
    found = []
    for wire in WIRES:
        with server(20, wire=wire) as url, folder() as path:
            for history, ours, by_hand in await bench_wires.turns(wire, url, path, TEXT):
                goal = "≤ 2" if history == 50 else "≤ 1"
                what = f"{wire}: turn after {history} turns, CPU"
                found.append(Row(what, ours, None, by_hand, "ms", goal))
        measured = {}
        for count in (10, 2010):
            with server(count, wire=wire) as url, folder() as path:
                measured[count] = await bench_wires.replies(wire, url, path)
        ours, by_hand = ((measured[2010][side] - measured[10][side]) / 2000 * 1e6 for side in (0, 1))
        found.append(Row(f"{wire}: one streamed chunk, CPU", ours, by_hand, None, "µs", "≤ 2"))
    return found


async def ladder() -> list[Row]:
    """What the ladder costs when all goes well, and how long it takes to go on at another endpoint."""
    ours, bare = await bench_wires.good_path()
    return [
        Row("a request through the ladder, wall", ours, bare, None, "µs", "≤ 50 µs more"),
        Row("from a refusal to the next endpoint", await bench_wires.switching(), unit="ms", goal="≤ 20 ms"),
    ]


async def dispatch() -> list[Row]:
    """One call through hooks, checks and size limit; the plain side of a sync call is the bare hop to a
    worker thread.
    """
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
    quick = await in_turn({"ours": partial(_often, partial(dispatcher.call, plain, args, {}))})
    told = {"tool_name": "noop", "args": args, "task_id": "t", "session_id": "s", "tool_call_id": "c"}
    unheard = partial(dispatcher.hooks.observe, "post_tool_call", **told)
    quiet = await in_turn({"ours": partial(_often, unheard)})
    both = {
        "ours": partial(_often, partial(dispatcher.call, threaded, args, {})),
        "plain": partial(_often, partial(anyio.to_thread.run_sync, partial(sync_noop, args))),
    }
    return [
        Row("dispatch, async no-op, wall", quick["ours"].wall / OFTEN * 1e6, unit="µs", goal="≤ 15 µs"),
        Row(
            "a hook point that nobody listens at, wall",
            quiet["ours"].wall / OFTEN * 1e6,
            unit="µs",
            goal="≤ 10 µs",
        ),
        *rows("dispatch, sync no-op", await in_turn(both, 9), 1e6 / OFTEN, "µs", "≤ 100 µs"),
    ]


OFTEN = 500


async def _often(job: Callable[[], Awaitable[Any]]) -> None:
    for _ in range(OFTEN):
        await job()


async def definitions() -> list[Row]:
    """What a session's tools cost, made and remembered."""
    hermes.tool(options)  # loads what functions need, so that it is not counted
    discover_builtin_tools()
    schemas, times = Schemas(PROCESS), []
    for _ in range(9):
        schemas = Schemas(PROCESS)
        started = time.perf_counter()
        schemas.snapshot(("hermes-cli",))
        times.append((time.perf_counter() - started) * 1e3)
    started = time.perf_counter()
    for _ in range(2000):
        schemas.snapshot(("hermes-cli",))
    warm = (time.perf_counter() - started) / 2000 * 1e6
    count = len(registry.get_all_tool_names())
    return [
        Row(f"definitions of {count} tools, cold, wall", median(times), unit="ms"),
        Row("definitions, warm, wall", warm, unit="µs", goal="≤ 5 µs"),
    ]


async def parallel() -> list[Row]:
    """Eight functions that take half a second each, in one reply: plain ones, and async ones."""

    @hermes.tool(parallel=True)
    def look_up(seconds: float) -> str:
        """Wait in a thread."""
        time.sleep(seconds)
        return "done"

    @hermes.tool
    async def fetch(seconds: float) -> str:
        """Wait on the loop."""
        await anyio.sleep(seconds)
        return "done"

    async def in_thread(seconds: float) -> None:
        await anyio.to_thread.run_sync(time.sleep, seconds)

    found = []
    for kind, function, by_hand in (("plain", look_up, in_thread), ("async", fetch, fetch.function)):
        script = [calls(*[(function.entry.name, {"seconds": 0.5})] * 8), say("done")] * ROUNDS
        ours, plain = ScriptedModel(*script), ScriptedModel(*script)
        with folder() as path:
            environ = {"HOME": str(path), "HERMES_HOME": str(path / ".hermes")}
            async with (
                hermes.open(
                    base_url="http://127.0.0.1:1/v1", tools=[function], environ=environ, http=ours.http()
                ) as session,
                plain.http() as http,
            ):
                told = Conversation(http, "http://127.0.0.1:1/v1", None)
                sides: dict[str, Callable[[], Awaitable[Any]]] = {
                    "ours": partial(session.send, "go"),
                    "plain": partial(with_tools, told, {function.entry.name: by_hand}),
                }
                found += rows(f"eight 0.5 s {kind} functions in one reply", await in_turn(sides), 1.0, "s")
    return [replace(row, goal="≤ 1.1 plain") if "wall" in row.what else row for row in found]


async def store() -> list[Row]:
    """Appending, with little and with much in the store; disk; resuming."""
    with folder() as path, closing(open_store(path / "floor.db")) as by_hand:
        async with open_ours(path / "ours.db", path / "search.db") as kept:
            found = await _appended(kept, by_hand, path / "ours.db-wal")
        size = sum(file.stat().st_size for file in path.iterdir() if file.name.startswith(("ours", "search")))
        each = size / (200_000 * len(TEXT))
        found.append(Row("disk for each byte of text, index included", each, unit="×", goal="≤ 3 ×"))
        found.append(await _resume(path / "home", by_hand))
    return found


async def _appended(kept: SessionStore, by_hand: sqlite3.Connection, log: Path) -> list[Row]:
    await kept.create(stored_row("s"), system="system", tools=[])
    ours = [await _one(kept, number) for number in range(2000)]
    hand = [_timed(lambda: append(by_hand, {"role": "user", "content": TEXT})) for _ in range(2000)]
    found = [Row("append, median wall", median(ours) * 1e6, None, median(hand) * 1e6, "µs", "≤ 1 stored")]
    many, logged = [], []
    for number in range(2000, 200_000):
        many.append(await _one(kept, number))
        logged.append(_megabytes(log))
    found += [
        Row("slowest append up to 200,000 messages", max(many) * 1e3, unit="ms", goal="≤ 20 ms"),
        Row("largest write-ahead log meanwhile", max(logged), unit="MB", goal="≤ 16 MB"),
    ]
    indexing = await spent(partial(kept.search, TEXT.split(maxsplit=1)[0]))
    return [*found, Row("indexing 200,000 messages, when first searched", indexing.wall, unit="s")]


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


async def _one(kept: SessionStore, number: int) -> float:
    message = User(id=f"m{number}", at=float(number), text=TEXT)
    started = time.perf_counter()
    await kept.append("s", message)
    return time.perf_counter() - started


def _timed(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


async def _resume(path: Path, by_hand: sqlite3.Connection) -> Row:
    """Opening a session of 2,000 messages again, until it can send; by hand: reading its rows."""
    async with runtime(path) as opened:
        session = await opened.session(options("http://127.0.0.1:1/v1"))
        for number in range(1000):
            await session.append(User(id=f"u{number}", at=0.0, text=TEXT))
            await session.append(Assistant(id=f"a{number}", at=0.0, text=TEXT))
        chosen = replace(options("http://127.0.0.1:1/v1"), resume=session.id)
        ours, hand = [], []
        for _ in range(9):
            await session.close()
            started = time.perf_counter()
            session = await opened.session(chosen)
            ours.append((time.perf_counter() - started) * 1e3)
            hand.append(_timed(partial(read, by_hand, limit=2000)) * 1e3)
        assert len(session.log) == 2000
    return Row("resuming 2,000 messages, wall", median(ours), None, median(hand), "ms", "≤ 3 ms")


async def start() -> list[Row]:
    """Whole processes: help, and one answer from a cold start, against a program that does only that."""
    helped = [_process([sys.executable, "-m", "hermes", "--help"]) for _ in range(7)]
    with server(20) as url, folder() as path:
        environ = {**environment(), "HERMES_HOME": str(path / "home")}
        ours, hand = [], []
        for _ in range(7):
            ours.append(_process([sys.executable, "-m", "hermes", "-z", "hi", "--base-url", url], environ))
            hand.append(_process([sys.executable, str(HERE / "bench_floor.py"), url], environ))
    imported = middle([_process([sys.executable, "-c", "import hermes.runtime"])[0] for _ in range(7)])
    found = [
        Row("hermes --help, wall", median(one.wall for one, _ in helped), unit="s", goal="≤ 0.15 s"),
        Row("import hermes.runtime, the whole process, CPU", imported.cpu, unit="s", goal="≤ 0.15 s"),
    ]
    sides = {"ours": middle([one for one, _ in ours]), "plain": middle([one for one, _ in hand])}
    found += rows("cold start to an answer", sides, 1.0, "s", "≤ 1.5 plain")
    memory, floor = (median(size for _, size in side) for side in (ours, hand))
    return [*found, Row("cold start to an answer, memory", memory, floor, unit="MB", goal="≤ 1.2 plain")]


def _process(command: list[str], environ: dict[str, str] | None = None) -> tuple[Spent, float]:
    """What one program took, and its peak megabytes."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert process.stderr is not None
    faults = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, faults.decode()
    wall = time.perf_counter() - started
    return Spent(used.ru_utime + used.ru_stime, wall), used.ru_maxrss / 1024


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
    "search": search,
    "delegation": delegation,
    "code": code,
    "recall": recall,
}


def main() -> None:
    """Run the parts named on the command line, or all, and print one Markdown table."""
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        sys.exit(f"scripts/bench: there is no part {unknown[0]}; there are {', '.join(PARTS)}.")
    raise_file_limit()
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, {os.cpu_count()} cores, Python {sys.version.split()[0]}\n"
    )
    print(HEAD)
    for name in chosen:
        for row in anyio.run(PARTS[name]):
            print(row.cells(), flush=True)


if __name__ == "__main__":
    main()
