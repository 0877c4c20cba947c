"""`hermes tools`: what the model can call, and tool files that could not be loaded."""

from collections.abc import Mapping

import click

from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.settings import DelegationSettings
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.composition import open_tools
from hermes.lib.visible import visible
from hermes.tools.deferred import TOOLSET as SEARCHING
from hermes.tools.discovery import BUILT_IN
from hermes.tools.needs import missing_variables
from hermes.tools.registry import ToolRegistry
from hermes.tools.settings import ToolSearchSettings, ToolSettings
from hermes.tools.toolsets import bundled, known_names, resolve
from hermes.types.tool import ToolEntry


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
    found = here(choices)
    settings = found.settings
    folder = open_tools(found.home, lambda: settings[DelegationSettings], settings[CodeExecutionSettings])
    registry = folder.registry
    if by_toolset:
        tables.show(
            [_toolset(name, registry) for name in known_names(registry)],
            head=("TOOLSET", "TOOLS", "WHAT FOR"),
        )
        return
    searching = _search_state(registry, settings[ToolSettings].tool_search)
    shown = [
        (
            entry.name,
            entry.toolset,
            searching if entry.toolset == SEARCHING else _state(entry, registry, found.environ),
            entry.description,
        )
        for entry in registry.entries().values()
    ]
    tables.show(shown, head=("TOOL", "TOOLSET", "STATE", "WHAT IT DOES"))
    for fault in folder.faults:
        click.echo(visible(f"hermes: {fault.path} could not be loaded: {fault.reason}"), err=True)


def _toolset(name: str, registry: ToolRegistry) -> tuple[str, str, str]:
    """A toolset with those of its tools that are installed."""
    tools = sorted(resolve(name, registry) & set(registry.entries()))
    known = bundled().get(name)
    return name, ", ".join(tools) or "none yet", known.description if known else "your own"


def _search_state(registry: ToolRegistry, search: ToolSearchSettings) -> str:
    """The state of the tools that find others: there is nothing to find among the built-in ones."""
    own = any(entry.source != BUILT_IN for entry in registry.entries().values())
    if not own or search.enabled == "off":
        return "not offered"
    return "ready" if search.enabled == "on" else "offered if your tools are many"


def _state(entry: ToolEntry, registry: ToolRegistry, environ: Mapping[str, str]) -> str:
    missing = missing_variables(entry, environ)
    if registry.checks.available(entry.check_fn):
        return f"ready; {', '.join(missing)} not set" if missing else "ready"
    return f"needs {', '.join(entry.requires_env)}" if entry.requires_env else "unavailable"
