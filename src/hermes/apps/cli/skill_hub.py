"""`hermes skills install` and what belongs to it: skills from elsewhere, looked through before they are
used.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import click
from msgspec.structs import replace

from hermes.agent.skill_audit import audited
from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import agreed, here, to_change
from hermes.apps.cli.progress import ensure_model
from hermes.apps.cli.skill_places import (
    candidate,
    installed_in,
    library_of,
    tell_verdict,
    typed_candidate,
    unmet_here,
)
from hermes.commands.skill_settings import askable, asked_about
from hermes.composition import SYSTEM_PORTS
from hermes.config.edit import set_secret
from hermes.lib.text import strip_escapes
from hermes.plugins.variable_owners import owned_already, owners_of
from hermes.runtime import open_runtime
from hermes.skills.digest import digest
from hermes.skills.guard import GuardVerdict, examine, keeps_out
from hermes.skills.installed import Candidate, InstalledSkills, KeptOut
from hermes.skills.library import files_of
from hermes.skills.lock_file import Installed
from hermes.skills.skill_file import FILE, Skill, SkillVariable, load
from hermes.types.error import HermesError, SkillError

_CURRENT = "up to date"


@click.command()
@click.argument("where")
@click.option("--category", default="", help="The folder among your skills.")
@click.option("--force", is_flag=True, help="Install in spite of findings, and over changes.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def install(choices: Choices, where: str, *, category: str, force: bool, yes: bool) -> None:
    """Install a skill from WHERE: what hermes skills search lists, a folder, owner/repository/path of GitHub,
    or the https address of a git repository (with #path), an archive or a SKILL.md. It is looked through
    first.
    """
    to_change(choices)
    with typed_candidate(choices, where) as one:
        tell_verdict(one.skill.name, one.verdict)
        click.echo(strip_escapes(f"{one.skill.name}: {one.skill.description}"))
        for owned in _owned(choices, one.skill):
            click.echo(f"{one.skill.name}: {owned}")
        asks = not (yes or force or keeps_out(one.verdict, one.trust))
        if asks and not agreed(f"Install it from {one.source}?", "installs", default=True):
            click.echo("Nothing was installed.")
            return
        try:
            made = installed_in(choices).install(one, category=category, at=SYSTEM_PORTS.now(), force=force)
        except KeptOut as error:
            raise SkillError(f"{error} Read it; --force installs it in spite of that.") from error
    place = installed_in(choices).folder / made.place
    click.echo(f"Installed in {place}. It counts in sessions that begin now.")
    for variable in askable(unmet_here(choices)(load(place))):
        _ask_for(choices, made.name, variable, asks=not yes and sys.stdin.isatty())


def _ask_for(choices: Choices, skill: str, variable: SkillVariable, *, asks: bool) -> None:
    """Ask for a key, which is not shown, and keep it; or say how it is given."""
    now, value = here(choices), ""
    file = now.home.env_file
    about = asked_about(skill, variable, owners_of(variable.name, now.home, now.settings))
    if asks:
        words = f"{about} (not shown; Enter leaves it out)"
        value = click.prompt(words, hide_input=True, default="", show_default=False, err=True)
    if value:
        set_secret(file, variable.name, value)
        click.echo(f"{variable.name} is kept in {file}.")
    else:
        click.echo(f"{about}. A line {variable.name}=… in {file} sets it.", err=True)


@click.command()
@click.argument("where", shell_complete=values.of("skills"))
@click.pass_obj
def inspect(choices: Choices, where: str) -> None:
    """What a skill is, before it is installed or after: its files, what it needs, what the guard says.

    WHERE is the name of a skill that is here, or what hermes skills install takes.
    """
    here_ = next((one for one in library_of(choices).skills() if one.name == where), None)
    if here_ is not None:
        known = installed_in(choices).every().get(where)
        _tell_skill(choices, here_, known.source if known else here_.folder, examine(Path(here_.folder)))
        return
    with typed_candidate(choices, where) as one:
        _tell_skill(choices, one.skill, f"{one.source} ({one.trust})", one.verdict)


def _owned(choices: Choices, skill: Skill) -> list[str]:
    now = here(choices)
    return owned_already(skill, now.home, now.settings)


def _tell_skill(choices: Choices, skill: Skill, origin: str, verdict: GuardVerdict) -> None:
    rows = [
        ("name", skill.name),
        ("description", skill.description),
        ("from", origin),
        ("files", ", ".join([FILE, *files_of(skill)])),
        ("needs", "; ".join(unmet_here(choices)(skill).sentences) or "nothing more"),
        ("guard", verdict.level),
        *(("besides", owned) for owned in _owned(choices, skill)),
    ]
    tables.show(rows, head=("WHAT", "VALUE"))
    tell_verdict(skill.name, verdict)


@click.command("installed")
@tables.lists
@click.pass_obj
def list_installed(choices: Choices) -> None:
    """The skills that were installed, and from where."""
    installed = installed_in(choices)
    rows = [(one.name, one.source, one.trust, one.level) for one in installed.every().values()]
    if not rows:
        click.echo("No skill was installed; hermes skills install WHERE does it.", err=True)
        return
    tables.show(rows, head=("NAME", "SOURCE", "TRUST", "GUARD"))


@click.command()
@click.argument("name", shell_complete=values.of("installed_skills"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def uninstall(choices: Choices, name: str, *, yes: bool) -> None:
    """Remove a skill that was installed."""
    to_change(choices)
    (known,) = _named(installed_in(choices), [name])
    if not (yes or agreed(f"Remove {known.name} from {known.source}?", "removes")):
        click.echo("Nothing was removed.")
        return
    gone = installed_in(choices).uninstall(name)
    click.echo(f"{gone.name} from {gone.source} is gone.")


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_skills"))
@click.option("--model", "is_read", is_flag=True, help="Have a model read them too (auxiliary.skills_hub).")
@click.pass_obj
def audit(choices: Choices, names: Sequence[str], *, is_read: bool) -> None:
    """Look through installed skills again, and say which were changed since."""
    installed = installed_in(choices)
    chosen = _named(installed, names)
    verdicts = {one.name: installed.audit(one) for one in chosen}
    if is_read:
        verdicts = anyio.run(_read_too, choices, chosen, verdicts)
    for one in chosen:
        state = "changed since" if installed.is_changed(one) else "as it came"
        click.echo(f"{one.name} from {one.source} ({one.trust}): {state}")
        tell_verdict(one.name, verdicts[one.name])


async def _read_too(
    choices: Choices, chosen: Sequence[Installed], verdicts: Mapping[str, GuardVerdict]
) -> dict[str, GuardVerdict]:
    """The verdicts once a model has read the skills, in a session of its own."""
    folder = installed_in(choices).folder
    async with open_runtime(profile=choices.profile) as runtime:
        session = await runtime.session(replace(session_options(choices, attended=False), toolsets=()))
        try:
            await ensure_model(runtime, session.endpoint)
            return {
                one.name: await audited(session, load(folder / one.place), verdicts[one.name])
                for one in chosen
            }
        finally:
            await session.close()


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_skills"))
@click.option("--force", is_flag=True, help="Update in spite of findings, and over changes.")
@click.pass_obj
def update(choices: Choices, names: Sequence[str], *, force: bool) -> None:
    """Bring installed skills up to date with their sources."""
    to_change(choices)
    for one in _named(installed_in(choices), names):
        with _told(one), _at_source(choices, one) as fresh:
            state = _state(choices, one, fresh)
            told = state if state == _CURRENT else _updated(choices, fresh, force=force)
            click.echo(f"{one.name}: {told}")


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_skills"))
@click.pass_obj
def check(choices: Choices, names: Sequence[str]) -> None:
    """Say which installed skills have changed at their sources, or here; nothing is installed."""
    for one in _named(installed_in(choices), names):
        with _told(one), _at_source(choices, one) as fresh:
            click.echo(f"{one.name}: {_state(choices, one, fresh)}")


@contextmanager
def _at_source(choices: Choices, one: Installed) -> Iterator[Candidate]:
    """What is at the source of an installed skill now."""
    with candidate(choices, one.source) as fresh:
        if fresh.skill.name != one.name:
            raise SkillError(f"at its source it is called {fresh.skill.name} now; install that by its name.")
        yield fresh


def _state(choices: Choices, one: Installed, fresh: Candidate) -> str:
    """Where an installed skill was changed since it came."""
    if digest(fresh.folder) != one.digest:
        return "changed at its source"
    return "changed here" if installed_in(choices).is_changed(one) else _CURRENT


def _updated(choices: Choices, fresh: Candidate, *, force: bool) -> str:
    tell_verdict(fresh.skill.name, fresh.verdict)
    installed_in(choices).install(fresh, category="", at=SYSTEM_PORTS.now(), force=force)
    return "updated"


@contextmanager
def _told(one: Installed) -> Iterator[None]:
    """A fault of one skill is a line, and the next one follows."""
    try:
        yield
    except HermesError as error:
        click.echo(strip_escapes(f"{one.name}: {error}"), err=True)


def _named(installed: InstalledSkills, names: Sequence[str]) -> list[Installed]:
    known = installed.every()
    if missing := [name for name in names if name not in known]:
        raise SkillError(f"No skill {', '.join(missing)} was installed; hermes skills installed lists them.")
    return [known[name] for name in (names or known)]
