"""`hermes profiles`: homes beside the first one, each with settings, keys and sessions of its own."""

import click

from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.config.environ import environment
from hermes.config.home import DEFAULT, in_force, make_profile, profiles_of, stick


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List, make and choose profiles; -p NAME takes one for a single start."""
    if context.invoked_subcommand is None:
        context.invoke(listed)


@profiles.command("list")
@tables.lists
def listed() -> None:
    """All profiles; a star marks the one in force."""
    now = in_force(environment())
    rows = [(tables.Cell(name == now, "*" * (name == now)), name) for name in profiles_of(environment())]
    tables.show(rows, head=("IN FORCE", "NAME"))


@profiles.command()
@click.argument("name")
def create(name: str) -> None:
    """Make an empty profile."""
    to_change(Choices(profile=DEFAULT))
    made = make_profile(environment(), name)
    click.echo(f"{made.root} is there; hermes -p {name} works with it, hermes profiles use {name} always.")


@profiles.command()
@click.argument("name", shell_complete=values.of("profiles"))
def use(name: str) -> None:
    """Work with a profile from now on, where -p and HERMES_PROFILE name none."""
    to_change(Choices(profile=DEFAULT))
    stick(environment(), name)
    click.echo(f"{name} is in force from now on.")
