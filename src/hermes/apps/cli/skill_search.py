"""`hermes skills search` and what belongs to it: skills of others, looked for in many places at once."""

from collections.abc import Sequence

import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.apps.cli.skill_places import ask_places, taps_of
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line
from hermes.skills.hubs.directory import ALL, HubDirectory, HubSearch
from hermes.skills.hubs.protocol import Offer
from hermes.types.error import SkillError

_HEAD = ("SOURCE", "TRUST", "GUARD", "DESCRIPTION")


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--source", default=ALL, help="Ask this place alone: a tap, clawhub, lobehub, well-known …")
@tables.lists
@click.pass_obj
def search(choices: Choices, words: Sequence[str], *, source: str) -> None:
    """Look for skills that fit WORDS in all places at once; hermes skills install takes what stands under
    SOURCE.
    """
    _show_found(ask_places(choices, lambda places: places.search(" ".join(words), source)))


@click.command()
@click.argument("where", default=ALL)
@tables.lists
@click.pass_obj
def browse(choices: Choices, where: str) -> None:
    """The skills of a place, such as openai/skills or clawhub; without one of all that are searched."""
    if where == ALL:
        _show_found(ask_places(choices, lambda places: places.search("")))
        return

    async def listed(places: HubDirectory) -> Sequence[Offer]:
        return await places.hub(places.source(where)).offers("")

    _show(ask_places(choices, listed))


@click.group()
def tap() -> None:
    """The repositories that hermes skills search looks into."""


@tap.command("list")
@tables.lists
@click.pass_obj
def list_taps(choices: Choices) -> None:
    """All taps."""
    taps = taps_of(choices).every()
    if not taps:
        click.echo("There are no taps; hermes skills tap add REPOSITORY adds one.", err=True)
        return
    tables.show([(one,) for one in taps], head=("TAP",))


@tap.command("add")
@click.argument("repository")
@click.pass_obj
def add_tap(choices: Choices, repository: str) -> None:
    """Search REPOSITORY too: owner/repository of GitHub, or an https address."""
    to_change(choices)
    taps_of(choices).add(repository)
    click.echo(f"{repository} is searched from now on.")


@tap.command("remove")
@click.argument("repository")
@click.pass_obj
def remove_tap(choices: Choices, repository: str) -> None:
    """Search REPOSITORY no longer; what was installed from it stays."""
    to_change(choices)
    taps_of(choices).remove(repository)
    click.echo(f"{repository} is searched no longer.")


def _show_found(found: Sequence[HubSearch]) -> None:
    """What the places gave, and a line on stderr for each that failed."""
    for one in found:
        if one.fault:
            click.echo(one_line(strip_escapes(f"{one.hub}: {one.fault}")), err=True)
    if all(one.fault for one in found):
        raise SkillError("None of the places could be searched.")
    _show([offer for one in found for offer in one.offers])


def _show(offers: Sequence[Offer]) -> None:
    if not offers:
        click.echo("No skill was found.", err=True)
        return
    rows = [(one.words, one.trust, one.level or "-", one.description) for one in offers]
    tables.show(rows, head=_HEAD)
