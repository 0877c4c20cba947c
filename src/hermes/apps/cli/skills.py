"""`hermes skills`: the procedures that are kept as files, and the changes that sessions want."""

from pathlib import Path

import click

from hermes.agent.services import Redactor
from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, to_change
from hermes.apps.cli.redaction import redactor_for
from hermes.apps.cli.skill_hub import audit, check, inspect, install, list_installed, uninstall, update
from hermes.apps.cli.skill_places import library_of, unmet_here
from hermes.apps.cli.skill_publish import publish
from hermes.apps.cli.skill_search import browse, search, tap
from hermes.apps.cli.skill_snapshot import snapshot
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line, spelled_out
from hermes.skills.changes import SkillChange
from hermes.skills.journal import ChangeJournal
from hermes.skills.library import files_of, read_skill_file
from hermes.skills.needs import Unmet
from hermes.skills.skill_file import FILE
from hermes.types.error import ConfigError

_NONE = "There are no skills yet; a folder with a SKILL.md in {} is one."


@click.group()
def skills() -> None:
    """Procedures that are kept as files, and the changes that sessions want of them."""


@skills.command("list")
@tables.lists
@click.pass_obj
def list_skills(choices: Choices) -> None:
    """Every skill, by category; what could not be used stands on stderr."""
    library = library_of(choices)
    found = library.skills()
    for fault in library.faults():
        click.echo(one_line(f"{fault.folder}: {fault.why}"), err=True)
    if not found:
        click.echo(_NONE.format(library.own), err=True)
        return
    needed = unmet_here(choices)
    rows = [(one.name, one.category, f"{one.description}{_in_brackets(needed(one))}") for one in found]
    tables.show(rows, head=("NAME", "CATEGORY", "DESCRIPTION"))


@skills.command()
@click.argument("name", shell_complete=values.of("skills"))
@click.argument("file", default=FILE)
@click.pass_obj
def show(choices: Choices, name: str, file: str) -> None:
    """SKILL.md of a skill, or another FILE of it."""
    skill = library_of(choices).find(name)
    click.echo(spelled_out(strip_escapes(read_skill_file(skill, file))).rstrip())
    if file == FILE:
        others = files_of(skill)
        click.echo("\n".join([f"\nIn {one_line(skill.folder)}:", FILE, *map(one_line, others)]), err=True)


@skills.command()
@tables.lists
@click.argument("change", default="", shell_complete=values.of("waiting_changes"))
@click.option("-y/-n", "--yes/--no", "answer", default=None, help="Make the change, or forget it.")
@click.pass_obj
def review(choices: Choices, change: str, *, answer: bool | None) -> None:
    """The changes that wait for you; with the id of one its diff, and your answer to it."""
    journal = _journal(choices)
    if not change:
        _list(journal.waiting(), "No change waits.")
        return
    found = journal.find(change)
    if found not in journal.waiting():
        raise ConfigError(f"{found.id} was made already; hermes skills revert {found.id} takes it back.")
    to_change(choices)
    _tell(found, redactor_for(choices, Path.cwd()))
    if agreed("Make this change?", "makes it") if answer is None else answer:
        journal.make(found)
        click.echo(
            f"Made; hermes skills revert {found.id} takes it back. It counts in sessions that begin now."
        )
    else:
        journal.discard(found)
        click.echo("Forgotten.")


@skills.command()
@tables.lists
@click.pass_obj
def changes(choices: Choices) -> None:
    """The changes that were made."""
    _list(_journal(choices).made(), "No change was made.")


@skills.command()
@click.argument("change", shell_complete=values.of("made_changes"))
@click.pass_obj
def revert(choices: Choices, change: str) -> None:
    """Take back a change that was made, by its id."""
    to_change(choices)
    journal = _journal(choices)
    found = journal.find(change)
    if found not in journal.made():
        raise ConfigError(f"{found.id} was not made; hermes skills review {found.id} shows it.")
    journal.revert(found)
    click.echo(f"{found.skill} is as it was before {found.id}.")


for command in (
    *(search, browse, inspect, install, list_installed, check, update, audit, uninstall),
    *(tap, publish, snapshot),
):
    skills.add_command(command)


def _in_brackets(lacks: Unmet) -> str:
    """What a skill lacks, behind its description."""
    return f" (needs {', '.join(lacks.names)})" if lacks.names else ""


def _journal(choices: Choices) -> ChangeJournal:
    return ChangeJournal(library_of(choices).own)


def _list(found: list[SkillChange], none: str) -> None:
    if not found:
        click.echo(none, err=True)
        return
    rows = [(one.id, tables.moment(one.at), one.action, one.place, one.reason) for one in found]
    tables.show(rows, head=("ID", "WHEN", "WHAT", "SKILL", "WHY"))


def _tell(change: SkillChange, redactor: Redactor) -> None:
    after = f", after it had read text from {', '.join(change.outside)}" if change.outside else ""
    click.echo(one_line(redactor.redact(f"{change.action} {change.place}: {change.reason}")))
    click.echo(one_line(f"Session {change.session}{after}"))
    click.echo(f"\n{spelled_out(strip_escapes(redactor.redact(change.diff)))}")
