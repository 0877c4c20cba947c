"""The tools that a session offers its model: those of its toolsets when it is new, its own when it is
resumed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hermes.agent.prompt.builder import SMALL_WINDOW
from hermes.agent.settings import AgentSettings
from hermes.agent.spec import SessionOptions
from hermes.config.sections import Settings
from hermes.lib.lazy import import_object
from hermes.tools.definitions import definitions
from hermes.tools.function import TOOLSET, FunctionSource, FunctionTool
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas
from hermes.tools.settings import ToolsetSettings
from hermes.types.capabilities import Capabilities
from hermes.types.request import Endpoint
from hermes.types.tool import Snapshot


def offered(
    settings: Settings,
    schemas: Schemas,
    chosen: SessionOptions,
    environ: Mapping[str, str],
    endpoint: Endpoint,
) -> Snapshot:
    """The tools of a new session."""
    enabled = chosen.toolsets if chosen.toolsets is not None else tuple(settings[ToolsetSettings].toolsets)
    functions = FunctionSource(chosen.functions, environ)
    if functions.entries():
        enabled = (*enabled, TOOLSET)
        schemas = Schemas(ToolRegistry(schemas.registry, functions))
    found = schemas.snapshot(enabled, tuple(settings[AgentSettings].disabled_toolsets))
    return _small(found) if is_small(endpoint) else found


def inherited(parent: Snapshot, bounds: Capabilities) -> Snapshot:
    """The tools of a child: those of its parent that it may use, told of in words that name no others."""
    tools = {name: one for name, one in parent.tools.items() if bounds.uses(name)}
    shown = definitions(tools.values(), present=tools, known=parent.tools)
    return Snapshot(tools=tools, definitions=shown, generation=parent.generation)


def stored(kept: Sequence[object], registry: ToolRegistry, functions: Sequence[FunctionTool]) -> Snapshot:
    """The tools that a session was frozen with, as far as they still exist."""
    definitions: tuple[Mapping[str, Any], ...] = tuple(one for one in kept if isinstance(one, dict))
    entries = {**registry.entries(), **{one.entry.name: one.entry for one in functions}}
    names = [one["function"]["name"] for one in definitions]
    tools = {name: entries[name] for name in names if name in entries}
    return Snapshot(tools=tools, definitions=definitions, generation=registry.generation)


def _small(found: Snapshot) -> Snapshot:
    """The tools in the short form of a small model; functions of the session stay as they are."""
    own = tuple(one for one in found.definitions if found.tools[one["function"]["name"]].toolset == TOOLSET)
    return replace(
        found,
        definitions=(*import_object("hermes.models.local.local_prompt").definitions(found.definitions), *own),
    )


def is_small(endpoint: Endpoint) -> bool:
    """Whether a model gets the small prompt and few tools."""
    return endpoint.local or endpoint.context_window <= SMALL_WINDOW
