"""How costs grow: against history, sessions in one process, tools, and what is stored; and where they bend.

A curve bends where a cost grows faster than its work does. `scripts/bench growth [--quick] [CURVE …]`.
"""

import argparse
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from bench_floor import Conversation, insert, open_store
from bench_measure import TEXT, folder, in_turn, options, runtime, server, spent, stored_row
from bench_sessions import measured, raise_file_limit
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.lib.http import new_client
from hermes.runtime import Runtime
from hermes.store.protocol import SessionStore
from hermes.store.sqlite_store import open_store as open_ours
from hermes.tools.function import FunctionTool
from hermes.types.message import Assistant, Message, User

FASTER = 1.5
"""By what factor a cost may outgrow its work, seen from the best point before, until it is said to bend."""
Sizes = Sequence[int]


@dataclass(frozen=True, slots=True)
class Cost:
    """One column: what was measured at each size, and whether its work grows with the size or stays."""

    name: str
    values: list[float]
    grows: bool = False
    digits: int = 2

    def bend(self, sizes: Sizes) -> str:
        """Where the cost first outgrows its work, in words; empty where it does not."""
        for number in range(1, len(sizes)):
            expected = min(
                self.values[before] * (sizes[number] / sizes[before] if self.grows else 1.0)
                for before in range(number)
            )
            if self.values[number] > FASTER * expected > 0:
                factor = self.values[number] / expected
                return f"{self.name} bends at {sizes[number]:,}: {factor:.1f} times what its work explains"
        return ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Costs against one size."""

    size: str
    sizes: Sizes
    costs: list[Cost]

    def table(self) -> str:
        """The curve in Markdown, and what bends under it."""
        head = f"| {self.size} | {' | '.join(one.name for one in self.costs)} |"
        lines = [head, f"|{'---:|' * (len(self.costs) + 1)}"]
        for number, size in enumerate(self.sizes):
            cells = (f"{one.values[number]:,.{one.digits}f}" for one in self.costs)
            lines.append(f"| {size:,} | {' | '.join(cells)} |")
        bends = [found for one in self.costs if (found := one.bend(self.sizes))]
        return "\n".join([*lines, "", *(f"- {one}." for one in bends or ["Nothing bends"]), ""])


async def history(*, quick: bool) -> Curve:
    """A turn after so many messages: processor time, and memory that is taken while it runs."""
    sizes = (10, 100) if quick else (10, 100, 200, 500, 1000, 2000, 5000)
    found: list[tuple[float, float, float, float]] = []
    for size in sizes:
        with server(20) as url, folder() as path:
            async with runtime(path) as opened, new_client({}) as http:
                session, plain = await opened.session(options(url)), Conversation(http, url, None)
                for message in conversation(size):
                    await session.append(message)
                    role = "user" if isinstance(message, User) else "assistant"
                    plain.keep({"role": role, "content": TEXT})
                found.append(
                    await _turns(partial(session.send, TEXT), partial(plain.turn, TEXT), quick=quick)
                )
    ours, by_hand, memory, floor = (list(column) for column in zip(*found, strict=True))
    return Curve(
        "messages before the turn",
        sizes,
        [
            Cost("CPU of a turn, ms", ours, grows=True),
            Cost("plain loop, ms", by_hand, grows=True),
            Cost("peak memory of a turn, KB", memory, grows=True, digits=0),
            Cost("plain loop, KB", floor, grows=True, digits=0),
        ],
    )


async def _turns(
    ours: Callable[[], Awaitable[Any]], plain: Callable[[], Awaitable[Any]], *, quick: bool
) -> tuple[float, float, float, float]:
    """Processor milliseconds and peak kilobytes of a turn of both sides; the first one is not counted."""
    await ours()
    await plain()
    middles = await in_turn({"ours": ours, "plain": plain}, 3 if quick else 11)
    peaks = []
    for turn in (ours, plain):
        tracemalloc.start()
        await turn()
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e3)
        tracemalloc.stop()
    return middles["ours"].cpu * 1e3, middles["plain"].cpu * 1e3, peaks[0], peaks[1]


def conversation(count: int, texts: Sequence[str] = ()) -> list[Message]:
    """Messages of a user and a model in turn, an even number."""
    said = texts or [TEXT] * count
    kinds = (User, Assistant)
    return [kinds[at % 2](id=f"m{at}", at=0.0, text=text) for at, text in enumerate(said[: count // 2 * 2])]


async def sessions(*, quick: bool) -> Curve:
    """A turn of so many sessions at once, in a process of their own for each point."""
    sizes = (1, 10) if quick else (1, 10, 50, 100, 200, 500, 1000, 2000)
    ours: list[tuple[float, float]] = []
    by_hand: list[tuple[float, float]] = []
    for size in sizes:
        turns = 5 if quick else max(2, min(20, 1000 // size))
        samples = await anyio.to_thread.run_sync(
            partial(measured, ("ours", "plain"), size, turns=turns, rounds=1 if quick else 3)
        )
        for side, column in (("ours", ours), ("plain", by_hand)):
            cpu = median(one.cpu for one in samples[side]) / (size * turns) * 1e3
            column.append((cpu, median(one.memory for one in samples[side])))
    return Curve(
        "sessions at once",
        sizes,
        [
            Cost("CPU of a turn, ms", [cpu for cpu, _ in ours]),
            Cost("plain loop, ms", [cpu for cpu, _ in by_hand]),
            Cost("memory of the process, MB", [size for _, size in ours], grows=True, digits=0),
            Cost("plain loop, MB", [size for _, size in by_hand], grows=True, digits=0),
        ],
    )


async def tools(*, quick: bool) -> Curve:
    """Opening a session with so many tools, and a turn of it."""
    sizes = (7, 20) if quick else (7, 20, 50, 100, 200, 500)
    opening, found = [], []
    for size in sizes:
        functions = tuple(_function(number) for number in range(size))
        with server(20) as url, folder() as path:
            async with runtime(path) as opened, new_client({}) as http:
                chosen = replace(options(url), functions=functions)
                session = await opened.session(chosen)
                opening.append(median([await _opened(opened, chosen) for _ in range(3 if quick else 11)]))
                plain = Conversation(http, url, None, tools=session.tools.definitions)
                found.append(
                    await _turns(partial(session.send, TEXT), partial(plain.turn, TEXT), quick=quick)
                )
    ours, by_hand, memory, _ = (list(column) for column in zip(*found, strict=True))
    return Curve(
        "tools",
        sizes,
        [
            Cost("opening a session, CPU ms", opening, grows=True),
            Cost("CPU of a turn, ms", ours, grows=True),
            Cost("plain loop, ms", by_hand, grows=True),
            Cost("peak memory of a turn, KB", memory, grows=True, digits=0),
        ],
    )


async def _opened(opened: Runtime, chosen: Any) -> float:
    found: list[Session] = []

    async def open_one() -> None:
        found.append(await opened.session(chosen))

    cpu = (await spent(open_one)).cpu * 1e3
    await found[0].close()
    return cpu


def _function(number: int) -> FunctionTool:
    async def look_up(name: str, count: int = 1) -> str:
        """Look up what is known of a name.

        name: whose
        count: how much of it
        """
        return name * count

    look_up.__name__ = f"look_up_{number}"
    return hermes.tool(look_up)


SESSION = 200
"""Messages of each stored session."""


async def store(*, quick: bool) -> Curve:
    """A store with so many messages, beside a table with a full-text index by hand."""
    sizes = (1000, 2000) if quick else (1000, 10_000, 100_000, 1_000_000)
    with folder() as path, closing(open_store(path / "floor.db")) as by_hand:
        async with open_ours(path / "ours.db", path / "search.db") as kept:
            rows, done = [], 0
            for size in sizes:
                for number in range(done // SESSION, size // SESSION):
                    await _fill(kept, f"s{number:05}", number)
                by_hand.execute("BEGIN")
                for number in range(done, size):
                    _row(by_hand, f"s{number // SESSION:05}", number)
                by_hand.execute("COMMIT")
                done = size
                await kept.search("needle")
                rows.append(await _asked(kept, path, size))
                rows[-1] += _by_hand(by_hand)
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ("append, µs", "list of 50, ms", "resume of 200, ms", "search, ms", "disk for each byte of text")
    floor = ("append by hand, µs", "read of 200 by hand, ms", "search by hand, ms")
    costs = zip((*names, *floor), columns, strict=True)
    return Curve(
        "messages in the store",
        sizes,  # what a search finds grows with them, the rest does not
        [Cost(name, values, grows=name.startswith("search")) for name, values in costs],
    )


def words(number: int) -> str:
    """The text of a message; one in a thousand holds what is searched for."""
    return f"{number} {TEXT}" + (" needle" if number % 1000 == 0 else "")


async def _fill(kept: SessionStore, session_id: str, number: int) -> None:
    row = replace(stored_row(session_id), created=float(number), updated=float(number))
    await kept.create(row, system="system", tools=[])
    first = number * SESSION
    await kept.append(session_id, *conversation(SESSION, [words(first + at) for at in range(SESSION)]))


def _row(db: Any, session_id: str, number: int) -> None:
    text = words(number)
    insert(db, (session_id, "user", text), text)


async def _asked(kept: SessionStore, path: Path, size: int) -> list[float]:
    """Medians: append (µs), list, resume, search (ms); bytes on disk for each byte of text."""
    name = f"t{size}"
    await kept.create(stored_row(name), system="system", tools=[])
    appends = [
        await spent(partial(kept.append, name, User(id=f"n{number}", at=0.0, text=TEXT)))
        for number in range(200)
    ]
    some = f"s{size // SESSION // 2:05}"
    asked: list[Callable[[], Awaitable[Any]]] = [
        partial(kept.recent, limit=50),
        partial(kept.load, some),
        partial(kept.search, "needle"),
    ]
    await kept.search("needle")  # the index is up to date from here on
    times = [median([(await spent(job)).wall for _ in range(9)]) * 1e3 for job in asked]
    return [median(one.wall for one in appends) * 1e6, *times, _disk(path) / (size * len(TEXT))]


def _disk(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir() if file.name.startswith(("ours", "search")))


def _by_hand(db: Any) -> list[float]:
    """Medians of the same by hand: append (µs), reading a session, search (ms)."""
    last = db.execute("SELECT max(id) FROM messages").fetchone()[0]
    jobs: list[tuple[int, Callable[[], Any]]] = [
        (200, lambda: _committed(db)),
        (9, lambda: db.execute("SELECT body FROM messages WHERE session = 's00002'").fetchall()),
        (9, lambda: db.execute(SEARCH).fetchall()),
    ]
    append, read, search = (median(_wall(job) for _ in range(count)) for count, job in jobs)
    db.execute("DELETE FROM messages WHERE id > ?", (last,))
    return [append * 1e6, read * 1e3, search * 1e3]


SEARCH = (
    "SELECT rowid, snippet(words, 0, '', '', '…', 12) FROM words"
    " WHERE words MATCH 'needle' ORDER BY rank LIMIT 20"
)


def _committed(db: Any) -> None:
    db.execute("BEGIN")
    _row(db, "t", 1)
    db.execute("COMMIT")


def _wall(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


CURVES: dict[str, Callable[..., Awaitable[Curve]]] = {
    "history": history,
    "sessions": sessions,
    "tools": tools,
    "store": store,
}


def main() -> None:
    """Print the curves that are named, or all."""
    given = argparse.ArgumentParser(prog="scripts/bench growth")
    given.add_argument("curves", nargs="*", metavar="CURVE", help=f"some of {', '.join(CURVES)}")
    given.add_argument("--quick", action="store_true", help="two small points of each curve")
    chosen = given.parse_args(sys.argv[1:])
    raise_file_limit()
    if unknown := {*chosen.curves} - {*CURVES}:
        given.error(f"there is no curve {', '.join(sorted(unknown))}")
    for name in chosen.curves or CURVES:
        print(f"## {name}\n\n{anyio.run(partial(CURVES[name], quick=chosen.quick)).table()}", flush=True)


if __name__ == "__main__":
    main()
