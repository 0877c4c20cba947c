"""`hermes skills snapshot`: the installed skills of a home as a file, and from it into another home."""

import sys
from pathlib import Path

import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, to_change
from hermes.apps.cli.skill_places import candidate, installed_in, taps_of, tell_verdict
from hermes.composition import SYSTEM_PORTS
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line
from hermes.skills.digest import digest
from hermes.skills.hubs.snapshot import KeptSkill, read_snapshot, snapshot_of, write_snapshot
from hermes.types.error import HermesError, SkillError

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def snapshot() -> None:
    """The installed skills as a file: where each came from, and what its files were."""


@snapshot.command("export")
@click.argument("file", type=_FILE)
@click.pass_obj
def export_snapshot(choices: Choices, file: Path) -> None:
    """Write FILE with the sources and digests of the installed skills, and the taps."""
    kept = snapshot_of(installed_in(choices).every(), taps_of(choices).every())
    write_snapshot(file, kept)
    click.echo(f"{file} has the skills ({len(kept.skills)}) and the taps ({len(kept.taps)}) of this home.")


@snapshot.command("import")
@click.argument("file", type=_FILE)
@click.option("--force", is_flag=True, help="In spite of findings, of other files at a source, over changes.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def import_snapshot(choices: Choices, file: Path, *, force: bool, yes: bool) -> None:
    """Install the skills of FILE, after they and its taps are shown; each is looked through first."""
    to_change(choices)
    kept, known = read_snapshot(file), installed_in(choices).every()
    rows = [(one.name, one.state(known), one.source) for one in kept.skills]
    more = [one for one in kept.taps if one not in taps_of(choices).every()]
    shown = [*rows, *((one, "a new tap", one) for one in more)]
    if shown:
        tables.show(shown, head=_HEAD)
    wanted = [one for one in kept.skills if one.state(known) != "is here"]
    if not (wanted or more):
        click.echo("All of it is here.")
        return
    if not (
        yes or agreed(f"Install these skills ({len(wanted)}) and add these taps ({len(more)})?", "installs")
    ):
        click.echo("Nothing was installed.")
        return
    for tap in more:
        taps_of(choices).add(tap)
    brought = [one for one in wanted if _brought(choices, one, force=force)]
    if brought != wanted:
        sys.exit(1)


_HEAD = ("NAME", "STATE", "SOURCE")


def _brought(choices: Choices, one: KeptSkill, *, force: bool) -> bool:
    """Install one; whether it was. A fault is a line, and the next one follows."""
    try:
        _install(choices, one, force=force)
    except HermesError as error:
        click.echo(one_line(strip_escapes(f"{one.name}: {error}")), err=True)
        return False
    click.echo(one_line(f"{one.name}: installed"))
    return True


def _install(choices: Choices, one: KeptSkill, *, force: bool) -> None:
    with candidate(choices, one.source) as fresh:
        tell_verdict(fresh.skill.name, fresh.verdict)
        if fresh.skill.name != one.name:
            raise SkillError(f"at its source it is called {fresh.skill.name}; install that by its name.")
        if digest(fresh.folder) != one.digest and not force:
            raise SkillError("its files are others now than in the snapshot; --force installs them.")
        installed_in(choices).install(fresh, category=one.category, at=SYSTEM_PORTS.now(), force=force)
