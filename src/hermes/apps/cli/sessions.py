"""`hermes sessions`: list, show, search, rename, export and delete."""

import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeVar

import anyio
import click
import msgspec

from hermes.agent.compaction.view import parting
from hermes.agent.log import misplaced
from hermes.agent.past_sessions import ROLES, described, role_of
from hermes.agent.spec import new_session_id
from hermes.agent.title import title_of
from hermes.agent.trajectories import add_to, trajectory
from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, to_change
from hermes.apps.cli.redaction import clean_hits, clean_rows, redactor_for
from hermes.apps.cli.tables import Cell
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.lib.text import clip, strip_escapes
from hermes.lib.visible import spelled_out
from hermes.present.session_tree import session_tree
from hermes.present.words import cut_path, short_path
from hermes.store.protocol import Hit, Owner, Selection, SessionRow, SessionStore, StoredSession
from hermes.store.search import text_of
from hermes.store.session_file import FIRST_MESSAGE, import_session, read_session, session_lines
from hermes.store.sqlite_store import open_store
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

RESULT_LINES = 12
LINE = 160
"""Characters of a message around one that was found."""
PLACE = 28
"""Columns of a directory in a list."""
T = TypeVar("T")


@click.group()
def sessions() -> None:
    """What was said before."""


@sessions.command("list")
@tables.lists
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--here", is_flag=True, help="Only those of this directory.")
@click.pass_obj
def list_sessions(choices: Choices, limit: int, *, here: bool) -> None:
    """Sessions, the last used first."""
    cwd = str(Path.cwd()) if here else ""
    rows = clean_rows(choices, _in_store(choices, lambda store: store.recent(limit=limit, cwd=cwd)))
    if not rows:
        click.echo("There is no session yet.", err=True)
        return
    user_home = Path.home()
    tables.show([_listed(row, user_home) for row in rows], head=_HEAD)
    for row in rows:
        if row.damaged:
            click.echo(
                f"hermes: session {row.id} has bytes that are no text; hermes store check --full tells more.",
                err=True,
            )


_HEAD: Final = ("SESSION", "LAST USED", "MESSAGES", "MODEL", "DIRECTORY", "TITLE")


def _listed(row: SessionRow, user_home: Path) -> tuple[object, ...]:
    """A session as one row of a list."""
    place = Cell(row.cwd, cut_path(short_path(Path(row.cwd), user_home), PLACE))
    title = row.title or title_of(row.first_text)
    return row.id, Cell(row.updated, tables.moment(row.updated)), row.messages, row.model, place, title


@sessions.command("tree")
@tables.lists
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.pass_obj
def show_tree(choices: Choices, limit: int) -> None:
    """Sessions with their branches, the last used first."""
    rows = clean_rows(choices, _in_store(choices, lambda store: store.recent(limit=limit)))
    if not rows:
        click.echo("There is no session yet.", err=True)
        return
    shown = [
        (
            Cell(row.id, f"{lines}{row.id}"),
            Cell(row.updated, tables.moment(row.updated)),
            row.messages,
            row.origin,
            row.title or title_of(row.first_text),
        )
        for lines, row in session_tree(rows)
    ]
    tables.show(shown, head=("SESSION", "LAST USED", "MESSAGES", "FROM", "TITLE"))


@sessions.command()
@click.argument("session", default="latest", shell_complete=values.of("sessions"))
@click.pass_obj
def show(choices: Choices, session: str) -> None:
    """One session, as Markdown."""
    stored = _in_store(choices, lambda store: _read(store, session))
    click.echo(_as_shown(_markdown(choices, stored)))


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many messages."
)
@click.option(
    "-C",
    "--context",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    help="Messages before and after each.",
)
@click.option("--sort", type=click.Choice(["best", "newest", "oldest"]), default="best", show_default=True)
@click.option("--role", "roles", type=click.Choice(list(ROLES)), multiple=True, help="Only what these said.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a message.")
@click.pass_obj
def search(
    choices: Choices,
    words: tuple[str, ...],
    limit: int,
    context: int,
    sort: Literal["best", "newest", "oldest"],
    roles: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Messages that hold all the words or, where few do, parts of them."""
    select = Selection(kinds=tuple(ROLES[one] for one in roles), order=sort, around=context)
    hits = _in_store(choices, lambda store: store.search(" ".join(words), limit=limit, select=select))
    if not hits:
        click.echo("Nothing was found.", err=True)
        sys.exit(1)
    for hit in clean_hits(choices, hits, " ".join(words)):
        click.echo(msgspec.json.encode(described(hit)) if as_json else spelled_out(_found(hit)))


@sessions.command()
@click.argument("session", shell_complete=values.of("sessions"))
@click.argument("title", nargs=-1, required=True)
@click.pass_obj
def rename(choices: Choices, session: str, title: tuple[str, ...]) -> None:
    """Give a session a title."""
    name = " ".join(title)[:100]

    async def renamed(store: SessionStore) -> SessionRow:
        row = await store.resolve(session)
        await store.update(row.id, title=name)
        return row

    click.echo(f"{_in_store(choices, renamed).id}: {name}")


@sessions.command()
@click.argument("session", default="latest", shell_complete=values.of("sessions"))
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "jsonl", "sharegpt"]),
    default="markdown",
    show_default=True,
)
@click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), help="A folder to add it to (sharegpt)."
)
@click.pass_obj
def export(choices: Choices, session: str, form: str, to: Path | None) -> None:
    """One session as Markdown, as JSON lines that import reads, or as a training example."""
    stored = _in_store(choices, lambda store: _read(store, session))
    if to is not None and form != "sharegpt":
        raise click.UsageError("--to goes with --format sharegpt.")
    if form == "markdown":
        text = _markdown(choices, stored)
        click.echo(_as_shown(text) if sys.stdout.isatty() else text)
    elif form == "jsonl":
        for line in session_lines(stored):
            click.echo(line)
    elif to is not None:
        click.echo(f"{stored.row.id} is in {add_to(to, _example(choices, stored))}.")
    else:
        click.echo(msgspec.json.encode(_example(choices, stored)))


def _markdown(choices: Choices, stored: StoredSession) -> str:
    """A session as Markdown, without credentials."""
    redactor = redactor_for(choices, Path(stored.row.cwd))
    return redactor.redact(as_markdown(stored.row, stored.log))


def _as_shown(text: str) -> str:
    """Markdown for a terminal: nothing in it is taken for a command."""
    return spelled_out(strip_escapes(text))


def _example(choices: Choices, stored: StoredSession) -> dict[str, Any]:
    return trajectory(
        stored.log,
        system=stored.system,
        tools=stored.tools,
        model=stored.row.model.partition("/")[2],
        at=stored.row.updated,
        redact=redactor_for(choices, Path(stored.row.cwd)).redact,
    )


@sessions.command("import")
@click.argument("file", type=click.File("rb"))
@click.pass_obj
def import_(choices: Choices, file: BinaryIO) -> None:
    """A session from JSON lines that export wrote; - reads standard input. It works in this directory, and
    what it holds counts as text from outside.
    """
    to_change(choices)
    read = read_session(file)
    found = read.session
    if (place := misplaced(found.log)) is not None:
        raise StoreError(f"Line {place + FIRST_MESSAGE} may not follow the one before it in a conversation.")
    if (place := parting(found.log)) is not None:
        raise StoreError(f"Line {place + FIRST_MESSAGE} stands for messages that are not where it says.")

    async def imported(store: SessionStore) -> SessionRow:
        new = new_session_id(SYSTEM_PORTS)
        return await import_session(store, found, free_id=new, cwd=str(Path.cwd()), now=SYSTEM_PORTS.now())

    row = _in_store(choices, imported)
    number = len(found.log)
    click.echo(f"{row.id}: {number} messages.")
    announced = number if read.announced is None else read.announced
    if number < announced:
        click.echo(f"hermes: the file ends after {number} of {announced} messages.", err=True)
    elif number > announced:
        click.echo(f"hermes: the file has {number} messages, and its first line says {announced}.", err=True)


@sessions.command()
@click.argument("session", shell_complete=values.of("sessions"))
@click.pass_obj
def release(choices: Choices, session: str) -> None:
    """Take a session from the process that has it open, so that another can go on with it."""

    async def evicted(store: SessionStore) -> tuple[SessionRow, Owner | None]:
        row = await store.resolve(session)
        owner = await store.owner_of(row.id)
        await store.evict(row.id)
        return row, owner

    row, owner = _in_store(choices, evicted)
    had = f"process {owner.pid} on {owner.host} can write no more to it" if owner else "nobody had it"
    click.echo(f"{row.id} is free: {had}.")


@sessions.command()
@click.argument("session", shell_complete=values.of("sessions"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(choices: Choices, session: str, *, yes: bool) -> None:
    """Delete a session and its messages."""
    row = _in_store(choices, lambda store: store.resolve(session))
    if not yes:
        asked = f"Delete {row.id} ({row.title or title_of(row.first_text)}, {row.messages} messages)?"
        if not agreed(asked, "deletes"):
            click.echo("Nothing was deleted.", err=True)
            sys.exit(1)
    scratch = locate(environment(), choices.profile).scratch_of(row.id)
    _in_store(choices, lambda store: store.delete(row.id))
    shutil.rmtree(scratch, ignore_errors=True)
    click.echo(f"{row.id} is deleted.")


def as_markdown(row: SessionRow, log: tuple[Message, ...]) -> str:
    """A session to read: who said what, calls with their results, long results cut."""
    head = f"# {row.title or row.id}\n\n{row.id} · {tables.moment(row.created)} · {row.model} · {row.cwd}"
    return "\n\n".join([head, *(_section(message) for message in log)])


def _found(hit: Hit) -> str:
    """A message that was found, with those around it, each in one line."""
    row = hit.session
    title = strip_escapes(row.title or title_of(row.first_text))
    lines = [f"{row.id} · {title} · {tables.moment(hit.message.at)} · message {hit.number}"]
    for mark, messages in (("  ", hit.before), ("> ", (hit.message,)), ("  ", hit.after)):
        for one in messages:
            text = hit.snippet if one is hit.message else text_of(one)
            lines.append(f"{mark}{role_of(one)}: {_line(text)}")
    return "\n".join([*lines, ""])


def _line(text: str) -> str:
    return clip(" ".join(strip_escapes(text).split()), LINE, notice=" … ")


def _section(message: Message) -> str:
    match message:
        case User(text=text):
            return f"## User\n\n{text}"
        case Assistant(text=text, calls=calls):
            made = [f"- `{call.name}` {call.raw or '{}'}" for call in calls]
            return "\n\n".join(part for part in ("## Hermes", text, "\n".join(made)) if part)
        case ToolResult(name=name, content=content):
            lines = strip_escapes(content).splitlines()
            cut = (
                [*lines[:RESULT_LINES], f"… {len(lines) - RESULT_LINES} more lines"]
                if len(lines) > RESULT_LINES
                else lines
            )
            return "\n".join([f"### Result of {name}", "", "````", *cut, "````"])
        case Compaction(summary=summary):
            return f"## Summary of what came before\n\n{summary}"


def _in_store(choices: Choices, work: Callable[[SessionStore], Awaitable[T]]) -> T:
    """What `work` gives on the store of the chosen home; damage to what it did not read is told."""

    async def run() -> T:
        home = locate(environment(), choices.profile)
        async with open_store(home.sessions_db, home.search_db) as store:
            done = await work(store)
            try:
                await store.verify()
            except StorageDamaged as error:
                click.echo(f"hermes: {error}", err=True)
            return done

    return anyio.run(run)


async def _read(store: SessionStore, session: str) -> StoredSession:
    stored = await store.read((await store.resolve(session)).id)
    for number in stored.unreadable:
        click.echo(f"hermes: message {number} of session {stored.row.id} cannot be read.", err=True)
    return stored
