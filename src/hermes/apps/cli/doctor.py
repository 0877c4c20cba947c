"""`hermes doctor`: what works here and what does not. It reads, and changes nothing."""

import sys

import click

from hermes.apps.cli.choices import Choices
from hermes.commands.installation import examine
from hermes.present.checkup import MARKS


@click.command()
@click.pass_obj
def doctor(choices: Choices) -> None:
    """Check this installation. Reads only; exit code 0 all well, 1 something does not work."""
    found = list(examine(choices.profile, model=choices.model, base_url=choices.base_url))
    for finding in found:
        click.echo(f"{MARKS[finding.state]} {finding.text}")
    if any(finding.state == "fault" for finding in found):
        sys.exit(1)
