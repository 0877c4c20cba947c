"""`hermes import`: what another agent's home holds, shown, then taken over; nothing there is changed, and
nothing here is written over.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import anyio
import click
from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent import tool_offer
from hermes.agent.memory import MemorySettings
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import agreed, home_with_skills, to_change
from hermes.apps.cli.homes.agents import AGENTS, ForeignAgent, agent_at, homes, parts_of, roots_of
from hermes.apps.cli.homes.part import KINDS, Arrival, Ours, Part
from hermes.apps.settings import load
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home
from hermes.lib.files import make_private
from hermes.lib.removal import remove_folder
from hermes.lib.text import strip_escapes
from hermes.runtime import open_runtime
from hermes.store.sqlite_store import open_store
from hermes.types.error import ConfigError, HermesError

_MANY: Final = 1_000_000
_NAMED: Final = 4
"""Names that a line of the table shows."""


class Planned(Struct, frozen=True):
    """A part, and whose it is."""

    agent: str
    part: Part


@click.command("import")
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--from", "name", type=click.Choice(sorted(AGENTS)), default=None, help="Whose home it is.")
@click.option("--only", default="", metavar="KINDS", help=f"With commas, of: {', '.join(KINDS)}.")
@click.option("--dry-run", is_flag=True, help="Only show what would be taken over.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@tables.lists
@click.pass_obj
def import_(
    choices: Choices, folder: Path | None, name: str | None, only: str, *, dry_run: bool, yes: bool
) -> None:
    """Take over what another agent has: settings, keys, sessions, skills, memory, MCP servers, hooks.

    FOLDER is its home; without one those that are found are shown (the original Hermes, Claude Code, Codex,
    Gemini CLI, opencode, OpenClaw). Nothing there is changed, and what is here stays.
    """
    home = to_change(choices)
    kinds = _kinds(only)
    found = _found(folder, name, home)
    home_with_skills(choices)
    with _alone(home) as scratch:
        ours = anyio.run(_ours, home, scratch)
        plan = [one for agent, root in found for one in _plan(agent, root, ours, kinds)]
        plan = list(_once(plan))
        _show(plan)
        waiting = [one for one in plan if one.part.is_new]
        if dry_run or not waiting:
            click.echo("Nothing was changed." if dry_run else "There is nothing to take over.", err=True)
        elif yes or agreed(f"Take over {len(waiting)} of these?", "takes them over"):
            sys.exit(_report(_take(choices, waiting)))
        else:
            click.echo("Nothing was changed.", err=True)


def _kinds(only: str) -> frozenset[str]:
    wanted = frozenset(one.strip() for one in only.split(",") if one.strip())
    if strange := sorted(wanted - {*KINDS}):
        raise click.UsageError(f"--only knows no {strange[0]!r}; there are: {', '.join(KINDS)}.")
    return wanted or frozenset(KINDS)


def _found(folder: Path | None, name: str | None, home: Home) -> list[tuple[ForeignAgent, Path]]:
    if folder is not None:
        agent = AGENTS[name] if name else agent_at(folder)
        if agent is None:
            raise ConfigError(
                f"{folder} looks like the home of no agent that is known; --from says whose it is."
            )
        return [(agent, root) for root in roots_of(agent, folder.absolute())]
    user_home = Path(environment().get("HOME") or Path.home())
    found = [(agent, root) for agent, root in homes(user_home, home) if name in {None, agent.name}]
    if not found:
        raise ConfigError("No home of another agent was found; hermes import FOLDER takes over a folder.")
    return found


@contextmanager
def _alone(home: Home) -> Iterator[Path]:
    """A folder for copies, while no other import runs in this home; it is gone afterwards."""
    make_private(home.root / "cache")
    scratch = home.root / "cache" / "import"
    try:
        with FileLock(home.root / "cache" / ".import.lock").acquire(timeout=1):
            remove_folder(scratch)
            scratch.mkdir(mode=0o700)
            try:
                yield scratch
            finally:
                remove_folder(scratch)
    except Timeout as error:
        raise ConfigError("Another hermes import runs in this home; wait for its end.") from error


async def _ours(home: Home, scratch: Path) -> Ours:
    loaded = load(home.config_file, {})
    known: frozenset[str] = frozenset()
    if home.sessions_db.exists():
        async with open_store(home.sessions_db, home.search_db) as store:
            known = frozenset(row.id for row in await store.recent(limit=_MANY))
    return Ours(
        home=home,
        values=loaded.values,
        variables=with_dotenv({}, home.env_file),
        notes=loaded.settings[MemorySettings].notes(home.memories),
        sessions=known,
        cwd=Path.cwd(),
        now=SYSTEM_PORTS.now(),
        scratch=scratch,
    )


def _plan(agent: ForeignAgent, root: Path, ours: Ours, kinds: frozenset[str]) -> Iterator[Planned]:
    for part in parts_of(agent, root, ours, kinds):
        yield Planned(agent.name, part)


def _once(plan: Sequence[Planned]) -> Iterator[Planned]:
    """The plan, in which of two agents' things of one name the first is taken."""
    first: dict[tuple[str, str], str] = {}
    for one in plan:
        part = one.part
        owner = first.setdefault((part.kind, part.name), one.agent) if part.is_new else one.agent
        if owner == one.agent:
            yield one
        else:
            yield Planned(
                one.agent, replace(part, becomes=f"not taken: {owner} has one, too", take=None, arrive=None)
            )


def _show(plan: Sequence[Planned]) -> None:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in plan:
        groups.setdefault((one.agent, one.part.kind, one.part.becomes), []).append(one.part.name)
    rows = [
        (agent, kind, len(names), strip_escapes(becomes), tables.Cell(names, _some(names)))
        for (agent, kind, becomes), names in groups.items()
    ]
    tables.show(rows, head=("FROM", "KIND", "COUNT", "WHAT HAPPENS", "NAMES"))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return strip_escapes(", ".join(names[:_NAMED])) + more


def _take(choices: Choices, waiting: Sequence[Planned]) -> list[tuple[Part, str]]:
    """Take the parts, and store the sessions after all others, whose settings say what prompt they get; each
    with why it was not taken, "" where it was.
    """
    done = [(one.part, _taken(one.part.take)) for one in waiting if one.part.take]
    sessions = [one.part for one in waiting if one.part.arrive]
    return [*done, *(anyio.run(_store, choices, sessions) if sessions else ())]


def _taken(take: Callable[[], object]) -> str:
    try:
        take()
    except (HermesError, OSError) as error:
        return str(error)
    return ""


async def _store(choices: Choices, sessions: Sequence[Part]) -> list[tuple[Part, str]]:
    async with open_runtime(profile=choices.profile) as runtime:
        spans, tools = await runtime.prompt_spans(session_options(choices, attended=True))
        prompt = "\n\n".join(span.text for _, span in spans)
        arrival = Arrival(
            store=runtime.store,
            system=runtime.services.redactor.redact(prompt),
            tools=tuple(tool_offer.kept(tools)),
        )
        return [(one, await _stored(one, arrival)) for one in sessions]


async def _stored(part: Part, arrival: Arrival) -> str:
    try:
        if part.arrive is not None:
            await part.arrive(arrival)
    except (HermesError, OSError) as error:
        return str(error)
    return ""


def _report(done: Sequence[tuple[Part, str]]) -> int:
    for part, why in done:
        if why:
            click.echo(strip_escapes(f"hermes: {part.kind} {part.name} was not taken: {why}"), err=True)
    taken = Counter[str]()
    for part in (part for part, why in done if not why):
        taken[part.kind] += part.count
    told = ", ".join(f"{count} {kind}" for kind, count in taken.items()) or "nothing"
    click.echo(f"Taken over: {told}.", err=True)
    return 1 if any(why for _, why in done) else 0
