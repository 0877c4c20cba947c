"""`hermes tools`: what the model can call, and tool files that could not be loaded."""

from typing import Final

import click
from msgspec import Struct

from hermes.agent.settings import AgentSettings
from hermes.agent.tool_offer import is_small, offered
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import Here, here
from hermes.apps.cli.tools_verify import verify
from hermes.commands.plugins_here import plugins_here
from hermes.lib.visible import visible
from hermes.models.catalog.catalogue import known_providers
from hermes.models.catalog.context_limits import learned_window, measured
from hermes.models.catalog.endpoint import resolve as resolve_model
from hermes.tools.deferred import TOOLSET as SEARCHING
from hermes.tools.discovery import BUILT_IN
from hermes.tools.needs import missing_variables
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas
from hermes.tools.settings import ToolSearchSettings, ToolSettings
from hermes.tools.toolsets import bundled, known_names, resolve
from hermes.types.request import Endpoint
from hermes.types.tool import ToolEntry, ToolSnapshot

_FEW: Final = (
    "hermes: a small model is offered few tools and a short prompt; hermes config set agent.prompt full gives"
    " it all."
)


@click.group()
def tools() -> None:
    """What the model can call."""


tools.add_command(verify)


@tools.command("list")
@tables.lists
@click.option("--toolsets", "by_toolset", is_flag=True, help="Show toolsets instead of tools.")
@click.pass_obj
def list_tools(choices: Choices, *, by_toolset: bool) -> None:
    """Tools, their toolset, and whether a new session offers them to its model.

    Files that could not be loaded are told on stderr.
    """
    found = here(choices)
    settings = found.settings
    folder = plugins_here(found.home, settings, found.environ).tools
    registry = folder.registry
    if by_toolset:
        tables.show(
            [_toolset(name, registry) for name in known_names(registry)],
            head=("TOOLSET", "TOOLS", "WHAT FOR"),
        )
        return
    snapshot, endpoint = _offer(choices, found, registry)
    told = ToolStates(registry, found, snapshot, endpoint)
    shown = [
        (entry.name, entry.toolset, told.state(entry), entry.description)
        for entry in registry.entries().values()
    ]
    tables.show(shown, head=("TOOL", "TOOLSET", "STATE", "WHAT IT DOES"))
    if is_small(endpoint, settings):
        click.echo(_FEW, err=True)
    for fault in folder.faults:
        click.echo(visible(f"hermes: {fault.path} could not be loaded: {fault.reason}"), err=True)


def _offer(choices: Choices, found: Here, registry: ToolRegistry) -> tuple[ToolSnapshot, Endpoint]:
    """What a new session would offer, and the endpoint whose model would get it; no key is needed to ask."""
    keyed = known_providers(found.settings)
    model, place = choices.model, choices.base_url
    endpoint = resolve_model(found.settings, found.environ, model=model, base_url=place, stored=keyed)
    learned = learned_window(found.home.windows_file, endpoint)
    endpoint = measured(endpoint, found.settings, learned)
    options = session_options(choices, attended=True)
    return offered(found.settings, Schemas(registry), options, found.environ, endpoint), endpoint


class ToolStates(Struct, frozen=True):
    """What is told of each tool's state: whether a new session would offer it, and if not, why."""

    registry: ToolRegistry
    found: Here
    snapshot: ToolSnapshot
    endpoint: Endpoint

    def state(self, entry: ToolEntry) -> str:
        """The state of one tool."""
        missing = missing_variables(entry, self.found.environ)
        if entry.name in self.snapshot.offered:
            return f"ready; {', '.join(missing)} not set" if missing else "ready"
        return self._why_not(entry)

    def _why_not(self, entry: ToolEntry) -> str:
        settings = self.found.settings
        if not self.registry.checks.available(entry.check_fn):
            return f"needs {', '.join(entry.requires_env)}" if entry.requires_env else "unavailable"
        is_searching = entry.toolset == SEARCHING
        if entry.name in self.snapshot.tools or (is_searching and is_small(self.endpoint, settings)):
            return "not offered: small model"
        if is_searching:
            return _search_state(self.snapshot, settings[ToolSettings].tool_search)
        if entry.toolset in settings[AgentSettings].disabled_toolsets:
            return f"not offered: {entry.toolset} is in agent.disabled_toolsets"
        return f"not offered: {entry.toolset} is not in toolsets"


def _toolset(name: str, registry: ToolRegistry) -> tuple[str, str, str]:
    """A toolset with those of its tools that are installed."""
    tools = sorted(resolve(name, registry) & set(registry.entries()))
    known = bundled().get(name)
    return name, ", ".join(tools) or "none yet", known.description if known else "your own"


def _search_state(snapshot: ToolSnapshot, search: ToolSearchSettings) -> str:
    """The state of the tools that find others: there is nothing to find among the built-in ones."""
    own = any(entry.source != BUILT_IN for entry in snapshot.tools.values())
    if not own or search.enabled == "off":
        return "not offered: nothing to find"
    return "offered if your tools are many"
