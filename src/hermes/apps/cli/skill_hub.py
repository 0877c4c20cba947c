"""`hermes skills install` and what belongs to it: skills from elsewhere, looked through before they are
used.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, here, to_change
from hermes.composition import SYSTEM_PORTS
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line
from hermes.skills.digest import digest
from hermes.skills.guard import GuardVerdict, keeps_out
from hermes.skills.installed import Candidate, InstalledSkills, KeptOut
from hermes.skills.lock_file import Installed
from hermes.skills.sources import SkillSource, chosen, fetched, skill_folders, source_of
from hermes.types.error import HermesError, SkillError


@click.command()
@click.argument("where")
@click.option("--category", default="", help="The folder among your skills.")
@click.option("--force", is_flag=True, help="Install in spite of findings, and over changes.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def install(choices: Choices, where: str, *, category: str, force: bool, yes: bool) -> None:
    """Install a skill from WHERE: a folder, owner/repository/path of GitHub, or the https address of a git
    repository with #path. It is looked through first.
    """
    to_change(choices)
    source = source_of(where)
    with _candidate(choices, source) as one:
        _tell(one.skill.name, one.verdict)
        click.echo(strip_escapes(f"{one.skill.name}: {one.skill.description}"))
        asks = not (yes or force or keeps_out(one.verdict, one.trust))
        if asks and not agreed(f"Install it from {source.words}?", "installs", default=True):
            click.echo("Nothing was installed.")
            return
        try:
            made = _installed(choices).install(one, category=category, at=SYSTEM_PORTS.now(), force=force)
        except KeptOut as error:
            raise SkillError(f"{error} Read it; --force installs it in spite of that.") from error
    click.echo(
        f"Installed in {_installed(choices).folder / made.place}. It counts in sessions that begin now."
    )


@click.command()
@click.argument("where")
@tables.lists
@click.pass_obj
def browse(choices: Choices, where: str) -> None:
    """The skills of a place, such as openai/skills."""
    source = source_of(where)
    with fetched(source, here(choices).environ) as top:
        rows = []
        for path, folder in sorted(skill_folders(top).items()):
            with _looked_at(choices, folder, source) as one:
                rows.append((path, one.verdict.level, one.skill.description))
    tables.show(rows, head=("PATH", "GUARD", "DESCRIPTION"))


@click.command("installed")
@tables.lists
@click.pass_obj
def list_installed(choices: Choices) -> None:
    """The skills that were installed, and from where."""
    installed = _installed(choices)
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
    (known,) = _named(_installed(choices), [name])
    if not (yes or agreed(f"Remove {known.name} from {known.source}?", "removes")):
        click.echo("Nothing was removed.")
        return
    gone = _installed(choices).uninstall(name)
    click.echo(f"{gone.name} from {gone.source} is gone.")


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_skills"))
@click.pass_obj
def audit(choices: Choices, names: Sequence[str]) -> None:
    """Look through installed skills again, and say which were changed since."""
    installed = _installed(choices)
    for one in _named(installed, names):
        state = "changed since" if installed.is_changed(one) else "as it came"
        click.echo(f"{one.name} from {one.source} ({one.trust}): {state}")
        _tell(one.name, installed.audit(one))


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_skills"))
@click.option("--check", is_flag=True, help="Only say which have changed at their source.")
@click.option("--force", is_flag=True, help="Update in spite of findings, and over changes.")
@click.pass_obj
def update(choices: Choices, names: Sequence[str], *, check: bool, force: bool) -> None:
    """Bring installed skills up to date with their sources."""
    to_change(choices)
    installed = _installed(choices)
    for one in _named(installed, names):
        try:
            click.echo(f"{one.name}: {_updated(choices, one, check=check, force=force)}")
        except HermesError as error:
            click.echo(strip_escapes(f"{one.name}: {error}"), err=True)


def _updated(choices: Choices, one: Installed, *, check: bool, force: bool) -> str:
    with _candidate(choices, source_of(one.source)) as fresh:
        if fresh.skill.name != one.name:
            raise SkillError(f"at its source it is called {fresh.skill.name} now; install that by its name.")
        if digest(fresh.folder) == one.digest and not _installed(choices).is_changed(one):
            return "up to date"
        if check:
            return "changed at its source"
        _tell(one.name, fresh.verdict)
        _installed(choices).install(fresh, category="", at=SYSTEM_PORTS.now(), force=force)
        return "updated"


def _named(installed: InstalledSkills, names: Sequence[str]) -> list[Installed]:
    known = installed.every()
    if missing := [name for name in names if name not in known]:
        raise SkillError(f"No skill {', '.join(missing)} was installed; hermes skills installed lists them.")
    return [known[name] for name in (names or known)]


@contextmanager
def _candidate(choices: Choices, source: SkillSource) -> Iterator[Candidate]:
    with (
        fetched(source, here(choices).environ) as top,
        _looked_at(choices, chosen(top, source), source) as one,
    ):
        yield one


@contextmanager
def _looked_at(choices: Choices, folder: Path, source: SkillSource) -> Iterator[Candidate]:
    name = folder.name if folder.name != "repository" else source.name.rpartition("/")[2]
    token = SYSTEM_PORTS.token()
    with _installed(choices).candidate(folder, name, token, origin=source.words, trust=source.trust) as one:
        yield one


def _installed(choices: Choices) -> InstalledSkills:
    home = here(choices).home
    return InstalledSkills(home.skills, home.skill_quarantine)


def _tell(name: str, verdict: GuardVerdict) -> None:
    """The verdict, and a line for each finding, on stderr."""
    click.echo(f"{name}: {verdict.level}", err=True)
    for one in verdict.findings:
        place = f"{one.file}:{one.line}" if one.line else one.file or "the folder"
        words = f" · {one.words}" if one.words else ""
        click.echo(one_line(strip_escapes(f"  {one.level}  {place}: {one.why}{words}")), err=True)
