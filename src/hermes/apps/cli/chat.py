"""`hermes chat`: one question with -q, or the interactive screen."""

import sys
from typing import Any

import click
from msgspec.structs import replace

from hermes.apps.cli.main import begin, chosen, options


@click.command()
@click.option(
    "-q", "--query", default=None, metavar="TEXT", help="Answer this and exit; stdin is added to it."
)
@options
@click.pass_context
def chat(context: click.Context, /, query: str | None, **given: Any) -> None:
    """Ask one question (-q), or open the interactive screen."""
    choices = chosen(**given)
    outer = context.obj
    choices = replace(
        choices,
        profile=choices.profile or outer.profile,
        model=choices.model or outer.model,
        base_url=choices.base_url or outer.base_url,
        worktree=choices.worktree or outer.worktree,
        goal=choices.goal or outer.goal,
        locked=choices.locked or outer.locked,
    )
    sys.exit(begin(query, choices))
