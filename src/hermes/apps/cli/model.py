"""`hermes model`: which model answers from now on."""

import sys

import click

from hermes.apps.cli import values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.apps.cli.models import Shelf, shelf
from hermes.apps.settings import edit
from hermes.models.catalog.catalogue import models_of
from hermes.models.catalog.endpoint import resolve
from hermes.models.local import catalogue
from hermes.models.settings import ModelSettings
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

SHOWN_OF_ONE = 12


@click.command()
@click.argument("name", metavar="[PROVIDER/MODEL]", default="", shell_complete=values.of("models"))
@click.pass_obj
def model(choices: Choices, name: str) -> None:
    """Choose the model for later sessions; without a name and without a terminal, show the one in force."""
    known = shelf(choices)
    if not name and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(_in_force(known, choices.base_url))
        return
    chosen = name or _asked(known, choices.base_url)
    endpoint = resolve(
        known.settings, known.environ, model=chosen, base_url=choices.base_url, stored=known.stored
    )
    home = to_change(choices)
    edit.set_key(home.config_file, "model.default", endpoint.full_name)
    if choices.base_url:
        edit.set_key(home.config_file, "model.base_url", endpoint.base_url)
    click.echo(f"{endpoint.full_name} answers from now on.{_beside(known, endpoint)}")


def _beside(known: Shelf, endpoint: Endpoint) -> str:
    """Where the server is, or that the settings name another one."""
    if endpoint.own_address:
        return f" It is at {endpoint.own_address}."
    base_url = known.settings[ModelSettings].base_url
    beside = f" model.base_url still points to {base_url}; hermes config unset model.base_url removes it."
    return beside if base_url else ""


def _in_force(known: Shelf, base_url: str) -> str:
    """The model, with the address where the server is one's own."""
    endpoint = resolve(known.settings, known.environ, base_url=base_url, stored=known.stored)
    return " ".join(filter(None, (endpoint.full_name, endpoint.own_address)))


def _asked(known: Shelf, base_url: str) -> str:
    names = _offered(known)
    for number, each in enumerate(names, start=1):
        click.echo(f"{number:>3}  {each}")
    answer = str(click.prompt(f"Number or name (now {_in_force(known, base_url)})")).strip()
    if not answer.isdigit():
        return answer
    if not 1 <= int(answer) <= len(names):
        raise ConfigError(f"There is no number {answer}; the list ends with {len(names)}.")
    return names[int(answer) - 1]


def _offered(known: Shelf) -> list[str]:
    """Local models, then some of the known ones of every provider that has a key; any other can be named."""
    usable = [one for one in known.providers.values() if known.usable(one) and (not one.keyless or one.own)]
    hosted = [each.name for one in usable for each in models_of(one.name, known.models)[:SHOWN_OF_ONE]]
    return [*(f"local/{one.alias}" for one in catalogue.entries()), *hosted]
