"""What model requests have used and cost, by day, session, task and model."""

from hermes.store.database import Database
from hermes.store.protocol import By, Spent, UsageEntry
from hermes.types.usage import NO_USAGE, Usage

_SUMS = (
    "sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(requests), sum(cost),"
    " sum(unpriced), sum(failed)"
)
_COLUMNS: dict[By, str] = {
    "day": "day",
    "session": "session",
    "task": "task",
    "model": "provider || '/' || model",
}
_ADD = (
    "INSERT INTO usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
    " requests = requests + excluded.requests,"
    " failed = failed + excluded.failed,"
    " input = input + excluded.input,"
    " output = output + excluded.output,"
    " cache_read = cache_read + excluded.cache_read,"
    " cache_write = cache_write + excluded.cache_write,"
    " reasoning = reasoning + excluded.reasoning,"
    " cost = cost + excluded.cost,"
    " unpriced = unpriced + excluded.unpriced,"
    " counted = counted + excluded.counted"
)


class UsageTable:
    """The usage table of one file; its writes belong in a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def add(self, entry: UsageEntry) -> None:
        """Count one request."""
        used = entry.usage
        self._rows.execute(
            _ADD,
            (
                entry.day, entry.session, entry.task, entry.provider, entry.model, used.requests,
                int(entry.failed),
                used.input_tokens, used.output_tokens, used.cache_read, used.cache_write, used.reasoning,
                used.cost, used.unpriced, entry.counted,
            ),
        )  # fmt: skip

    def counted_on(self, day: str) -> tuple[int, float]:
        """Tokens and US dollars that count against the budgets of a day, of all processes."""
        with self._database.faults():
            row = self._rows.execute(
                "SELECT sum(input + output), sum(counted) FROM usage WHERE day = ?", (day,)
            ).fetchone()
        return int(row[0] or 0), float(row[1] or 0.0)

    def of_session(self, session: str) -> Usage:
        """What a session has used since it began."""
        with self._database.faults():
            row = self._rows.execute(
                f"SELECT {_SUMS} FROM usage WHERE session = ?",  # noqa: S608  # fixed columns
                (session,),
            ).fetchone()
        return _usage(row) if row[5] else NO_USAGE

    def summary(self, by: By, since: str) -> list[Spent]:
        """Totals since a day, one line for each day, session, task or model; days in order, the others with
        the dearest first.
        """
        order = "1" if by == "day" else "sum(cost) DESC, sum(input) DESC"
        query = (
            f"SELECT {_COLUMNS[by]}, {_SUMS} FROM usage"  # noqa: S608  # fixed columns
            f" WHERE day >= ? GROUP BY 1 ORDER BY {order}"
        )
        with self._database.faults():
            rows = self._rows.execute(query, (since,)).fetchall()
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
