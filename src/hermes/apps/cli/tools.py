"""`hermes tools`: what the model can call, and tool files that could not be loaded."""

import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.runtime import discover
from hermes.tools.registry import registry
from hermes.tools.schemas import Checks
from hermes.tools.toolsets import bundled, known_names, resolve


@click.group()
def tools() -> None:
    """What the model can call."""


@tools.command("list")
@click.option("--toolsets", "by_toolset", is_flag=True, help="Show toolsets instead of tools.")
@click.pass_obj
def list_tools(choices: Choices, *, by_toolset: bool) -> None:
    """Tools, their toolset and their state.

    Files that could not be loaded are told on stderr.
    """
    faults = discover(locate(environment(), choices.profile))
    if by_toolset:
        tables.show([_toolset(name) for name in known_names(registry)], head=("TOOLSET", "TOOLS", "WHAT FOR"))
        return
    checks = Checks()
    entries = registry.entries().values()
    shown = [
        (entry.name, entry.toolset, "ready" if checks.available(entry.check_fn) else _missing(entry.requires_env), entry.description)
        for entry in entries
    ]
    tables.show(shown, head=("TOOL", "TOOLSET", "STATE", "WHAT IT DOES"))
    for fault in faults:
        click.echo(f"hermes: {fault.path} could not be loaded: {fault.reason}", err=True)


def _toolset(name: str) -> tuple[str, str, str]:
    """A toolset with those of its tools that are installed."""
    tools = sorted(resolve(name, registry) & set(registry.entries()))
    known = bundled().get(name)
    return name, ", ".join(tools) or "none yet", known.description if known else "your own"


def _missing(names: tuple[str, ...]) -> str:
    return f"needs {', '.join(names)}" if names else "unavailable"
