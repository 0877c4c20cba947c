"""What model requests have used and cost, by day, session, task and model."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from hermes.types.usage import NO_USAGE, Usage

By = Literal["day", "session", "task", "model"]
_SUMS = "sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(requests), sum(cost), sum(unpriced), sum(failed)"
_COLUMNS: dict[By, str] = {"day": "day", "session": "session", "task": "task", "model": "provider || '/' || model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """One line of a summary: what it is about, what was used, and how many of the requests failed."""

    what: str
    usage: Usage
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request. `day` is an ISO date, `counted` what it counts against budgets, in US dollars."""

    day: str
    session: str
    task: str
    provider: str
    model: str
    usage: Usage
    counted: float
    failed: bool


class UsageLog:
    """The usage table of one store; `faults` turns the database's errors into ours."""

    def __init__(self, db: sqlite3.Connection, faults: Callable[[], AbstractContextManager[None]]) -> None:
        self._db, self._faults = db, faults

    def add(self, entry: Entry) -> None:
        """Count one request."""
        used = entry.usage
        with self._faults():
            self._db.execute(
                "INSERT INTO usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
                " requests = requests + excluded.requests,"
                " failed = failed + excluded.failed, input = input + excluded.input, output = output + excluded.output,"
                " cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,"
                " reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced,"
                " counted = counted + excluded.counted",
                (
                    entry.day, entry.session, entry.task, entry.provider, entry.model, used.requests, int(entry.failed),
                    used.input_tokens, used.output_tokens, used.cache_read, used.cache_write, used.reasoning,
                    used.cost, used.unpriced, entry.counted,
                ),
            )  # fmt: skip

    def counted_on(self, day: str) -> tuple[int, float]:
        """Tokens and US dollars that count against the budgets of a day, of all processes."""
        with self._faults():
            row = self._db.execute("SELECT sum(input + output), sum(counted) FROM usage WHERE day = ?", (day,)).fetchone()
        return int(row[0] or 0), float(row[1] or 0.0)

    def of_session(self, session: str) -> Usage:
        """What a session has used since it began."""
        with self._faults():
            row = self._db.execute(f"SELECT {_SUMS} FROM usage WHERE session = ?", (session,)).fetchone()  # noqa: S608  # fixed columns
        return _usage(row) if row[5] else NO_USAGE

    def summary(self, by: By, *, since: str = "") -> list[Spent]:
        """Totals since a day, one line for each day, session, task or model; days in order, the others with the dearest first."""
        order = "1" if by == "day" else "sum(cost) DESC, sum(input) DESC"
        query = f"SELECT {_COLUMNS[by]}, {_SUMS} FROM usage WHERE day >= ? GROUP BY 1 ORDER BY {order}"  # noqa: S608  # fixed columns
        with self._faults():
            rows = self._db.execute(query, (since,)).fetchall()
        return [Spent(what=row[0], usage=_usage(row[1:]), failed=row[9]) for row in rows]


def _usage(row: tuple[int | float, ...]) -> Usage:
    read, written, cached, marked, reasoning, requests, cost, unpriced, _ = row
    return Usage(
        input_tokens=int(read),
        output_tokens=int(written),
        cache_read=int(cached),
        cache_write=int(marked),
        reasoning=int(reasoning),
        requests=int(requests),
        cost=float(cost),
        unpriced=int(unpriced),
    )
