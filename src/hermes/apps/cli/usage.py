"""`hermes usage`: tokens and money by day, model, session or task."""

import datetime as dt

import anyio
import click
import msgspec
from msgspec.structs import asdict

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.config.environ import environment
from hermes.config.home import Home, locate
from hermes.present.words import money, tokens
from hermes.store.protocol import By, Spent
from hermes.store.sqlite_store import open_store


@click.command()
@click.option("--days", default=30, show_default=True, type=click.IntRange(min=1), help="How many days back.")
@click.option(
    "--by",
    type=click.Choice(["day", "model", "session", "task"]),
    default="day",
    show_default=True,
    help="One line for each.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line, with whole numbers.")
@click.pass_obj
def usage(choices: Choices, days: int, by: By, *, as_json: bool) -> None:
    """Tokens and money that model calls have used.

    Columns: the day, model, session or task; tokens in (with those from a cache), of these cached, and out;
    requests, failed ones among them; money. A pipe gets them without their heads.
    """
    home = locate(environment(), choices.profile)
    since = dt.datetime.now(tz=dt.UTC).astimezone().date() - dt.timedelta(days=days - 1)
    rows = anyio.run(_summary, home, by, since.isoformat()) if home.sessions_db.is_file() else []
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode({by: row.what, **asdict(row.usage), "failed": row.failed}))
        return
    if not rows:
        click.echo(f"No model was called in the last {days} days.", err=True)
        return
    tables.show(
        [_row(one) for one in rows], head=(by.upper(), "IN", "CACHED", "OUT", "REQUESTS", "FAILED", "COST")
    )
    if len(rows) > 1:
        click.echo(f"Together: {money(_total(rows).usage)}.")


async def _summary(home: Home, by: By, since: str) -> list[Spent]:
    async with open_store(home.sessions_db, home.search_db) as store:
        return await store.summary(by, since=since)


def _row(one: Spent) -> tuple[str, ...]:
    used = one.usage
    counts = (
        tokens(used.input_tokens),
        tokens(used.cache_read),
        tokens(used.output_tokens),
        str(used.requests),
        str(one.failed),
    )
    return (one.what, *counts, money(used))


def _total(rows: list[Spent]) -> Spent:
    total = rows[0]
    for one in rows[1:]:
        total = Spent(what="", usage=total.usage + one.usage, failed=total.failed + one.failed)
    return total
