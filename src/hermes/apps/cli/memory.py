"""`hermes memory`: what later sessions are told."""

import click

from hermes.agent.memory import MemorySettings, described
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here, to_change
from hermes.lib.text import strip_escapes
from hermes.store.notes import FILES, Target


@click.group()
def memory() -> None:
    """What later sessions are told."""


@memory.command()
@click.pass_obj
def show(choices: Choices) -> None:
    """The notes of MEMORY.md and USER.md, each with where it comes from."""
    found = here(choices)
    notes = found.settings[MemorySettings].notes(found.home.memories)
    for target, file in FILES.items():
        click.echo(f"{notes.folder / file}: {notes.used(target)} of {notes.limits[target]} tokens")
        for one in notes.read(target):
            click.echo(f"  - {strip_escapes(described(one))}")


@memory.command()
@click.option("--target", type=click.Choice(["all", *FILES]), default="all", help="Which file.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def reset(choices: Choices, *, target: Target | str, yes: bool) -> None:
    """Forget all notes."""
    home = to_change(choices)
    notes = here(choices).settings[MemorySettings].notes(home.memories)
    chosen = [one for one in FILES if target in {"all", one}]
    names = " and ".join(FILES[one] for one in chosen)
    if not yes:
        click.confirm(f"Forget all of {names}?", abort=True)
    for one in chosen:
        notes.clear(one)
    click.echo(f"{names}: forgotten. Sessions that are open keep what they were told.")
