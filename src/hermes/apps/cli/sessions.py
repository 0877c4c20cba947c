"""`hermes sessions`: list, show, search, rename, export and delete."""

import datetime as dt
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hermes.agent.title import title_of
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.config.environ import environment
from hermes.config.home import Home, locate
from hermes.lib.text import strip_escapes
from hermes.store.search import Search
from hermes.store.sessions import MESSAGES, SessionRow, Sessions
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

RESULT_LINES = 12


@click.group()
def sessions() -> None:
    """What was said before."""


@sessions.command("list")
@click.option("-n", "--limit", default=20, show_default=True, help="How many.")
@click.option("--here", is_flag=True, help="Only those of this directory.")
@click.pass_obj
def list_sessions(choices: Choices, limit: int, *, here: bool) -> None:
    """Sessions, the last used first."""
    with _store(choices) as (_, store):
        rows = store.recent(limit=limit, cwd=str(Path.cwd()) if here else "")
    if not rows:
        click.echo("There is no session yet.", err=True)
        return
    tables.show([(row.id, _when(row.updated), str(row.messages), row.title or title_of(row.first_text)) for row in rows],
                head=("SESSION", "LAST USED", "MESSAGES", "TITLE"))  # fmt: skip


@sessions.command()
@click.argument("session", default="latest")
@click.pass_obj
def show(choices: Choices, session: str) -> None:
    """One session, as Markdown."""
    with _store(choices) as (_, store):
        row = store.resolve(session)
        click.echo(as_markdown(row, store.load(row.id).log))


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@click.pass_obj
def search(choices: Choices, words: tuple[str, ...]) -> None:
    """Messages that hold all the words, best first."""
    with _store(choices) as (home, store):
        index = Search(home.search_db, store)
        hits = index.find(" ".join(words))
        index.close()
    if not hits:
        click.echo("Nothing was found.", err=True)
        sys.exit(1)
    tables.show([(hit.session.id, hit.message.kind, hit.snippet) for hit in hits], head=("SESSION", "WHO", "WORDS"))


@sessions.command()
@click.argument("session")
@click.argument("title", nargs=-1, required=True)
@click.pass_obj
def rename(choices: Choices, session: str, title: tuple[str, ...]) -> None:
    """Give a session a title."""
    with _store(choices) as (_, store):
        row = store.resolve(session)
        store.update(row.id, title=" ".join(title)[:100])
        click.echo(f"{row.id}: {' '.join(title)[:100]}")


@sessions.command()
@click.argument("session", default="latest")
@click.option("--format", "form", type=click.Choice(["markdown", "jsonl"]), default="markdown", show_default=True)
@click.pass_obj
def export(choices: Choices, session: str, form: str) -> None:
    """One session as Markdown or JSON lines."""
    with _store(choices) as (_, store):
        row = store.resolve(session)
        log = store.load(row.id).log
    if form == "markdown":
        click.echo(as_markdown(row, log))
        return
    for message in log:
        click.echo(MESSAGES.encode(message))


@sessions.command()
@click.argument("session")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(choices: Choices, session: str, *, yes: bool) -> None:
    """Delete a session and its messages."""
    with _store(choices) as (_, store):
        row = store.resolve(session)
        if not yes:
            asked = f"Delete {row.id} ({row.title or title_of(row.first_text)}, {row.messages} messages)?"
            if not sys.stdin.isatty():
                raise click.UsageError("There is nobody to ask; -y deletes without asking.")
            if not click.confirm(asked):
                click.echo("Nothing was deleted.", err=True)
                sys.exit(1)
        store.delete(row.id)
        click.echo(f"{row.id} is deleted.")


def as_markdown(row: SessionRow, log: tuple[Message, ...]) -> str:
    """A session to read: who said what, calls with their results, long results cut."""
    head = f"# {row.title or row.id}\n\n{row.id} · {_when(row.created)} · {row.model} · {row.cwd}"
    return "\n\n".join([head, *(_section(message) for message in log)])


def _section(message: Message) -> str:
    match message:
        case User(text=text):
            return f"## User\n\n{text}"
        case Assistant(text=text, calls=calls):
            made = [f"- `{call.name}` {call.raw or '{}'}" for call in calls]
            return "\n\n".join(part for part in ("## Hermes", text, "\n".join(made)) if part)
        case ToolResult(name=name, content=content):
            lines = strip_escapes(content).splitlines()
            cut = [*lines[:RESULT_LINES], f"… {len(lines) - RESULT_LINES} more lines"] if len(lines) > RESULT_LINES else lines
            return "\n".join([f"### Result of {name}", "", "````", *cut, "````"])
        case Compaction(summary=summary):
            return f"## Summary of what came before\n\n{summary}"


@contextmanager
def _store(choices: Choices) -> Iterator[tuple[Home, Sessions]]:
    home = locate(environment(), choices.profile)
    store = Sessions(home.sessions_db)
    try:
        yield home, store
    finally:
        store.close()


def _when(at: float) -> str:
    return f"{dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone():%Y-%m-%d %H:%M}"
