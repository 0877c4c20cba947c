"""The tools that a session offers its model: those of its toolsets when it is new, its own when it is
resumed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hermes.agent.compaction.sizes import written
from hermes.agent.extensions import plugin_toolsets
from hermes.agent.prompt.builder import SMALL_WINDOW
from hermes.agent.settings import AgentSettings
from hermes.agent.spec import SessionOptions
from hermes.config.sections import Settings
from hermes.lib.lazy import import_object
from hermes.lib.text import tokens
from hermes.tools.deferred import TOOLSET as SEARCHING
from hermes.tools.deferred import deferred, left_to_find
from hermes.tools.definitions import definitions
from hermes.tools.function import TOOLSET, FunctionSource, FunctionTool
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas
from hermes.tools.settings import ToolSearchSettings, ToolsetSettings, ToolSettings
from hermes.tools.toolsets import is_of_server, server_toolsets
from hermes.types.capabilities import Capabilities
from hermes.types.request import Endpoint
from hermes.types.tool import ToolSnapshot

_DEFERRED = "deferred"


def offered(
    settings: Settings,
    schemas: Schemas,
    chosen: SessionOptions,
    environ: Mapping[str, str],
    endpoint: Endpoint,
) -> ToolSnapshot:
    """The tools of a new session."""
    enabled = chosen.toolsets
    if enabled is None:
        added = {*plugin_toolsets(schemas.registry), *server_toolsets(schemas.registry)}
        enabled = (*settings[ToolsetSettings].toolsets, *sorted(added))
    functions = FunctionSource(chosen.functions, environ)
    if functions.entries():
        enabled = (*enabled, TOOLSET)
        schemas = Schemas(ToolRegistry(schemas.registry, functions))
    disabled = tuple(settings[AgentSettings].disabled_toolsets)
    found = schemas.snapshot(enabled, (*disabled, SEARCHING))
    if is_small(endpoint, settings):
        return _small(found, endpoint.context_window * settings[ToolSettings].tool_search.threshold_pct / 100)
    left = left_to_find(found, TOOLSET)
    if left and _is_too_much(left, settings[ToolSettings].tool_search, endpoint):
        return deferred(found, left, schemas.snapshot((SEARCHING,)))
    return found


def inherited(parent: ToolSnapshot, bounds: Capabilities) -> ToolSnapshot:
    """The tools of a child: those of its parent that it may use, told of in words that name no others."""
    tools = {name: one for name, one in parent.tools.items() if bounds.uses(name)}
    told = definitions(tools.values(), present=tools, known=parent.tools)
    unseen = {one["function"]["name"] for one in parent.deferred}
    return ToolSnapshot(
        tools=tools,
        definitions=tuple(one for one in told if one["function"]["name"] not in unseen),
        generation=parent.generation,
        deferred=tuple(one for one in told if one["function"]["name"] in unseen),
    )


def kept(tools: ToolSnapshot) -> tuple[Mapping[str, Any], ...]:
    """The definitions as they are stored with a session; `stored` reads them."""
    return (*tools.definitions, *({**one, _DEFERRED: True} for one in tools.deferred))


def stored(rows: Sequence[object], registry: ToolRegistry, functions: Sequence[FunctionTool]) -> ToolSnapshot:
    """The tools that a session was frozen with, as far as they still exist."""
    found = [one for one in rows if isinstance(one, dict)]
    entries = {**registry.entries(), **{one.entry.name: one.entry for one in functions}}
    names = [one["function"]["name"] for one in found]
    left = [one for one in found if _DEFERRED in one]
    return ToolSnapshot(
        tools={name: entries[name] for name in names if name in entries},
        definitions=tuple(one for one in found if _DEFERRED not in one),
        generation=registry.generation,
        deferred=tuple({key: part for key, part in one.items() if key != _DEFERRED} for one in left),
    )


def _is_too_much(left: Sequence[Mapping[str, Any]], search: ToolSearchSettings, endpoint: Endpoint) -> bool:
    """Whether definitions take more of a window than is worth having them in sight."""
    if search.enabled != "auto":
        return search.enabled == "on"
    size = sum(tokens(written(one)) for one in left)
    return size > endpoint.context_window * search.threshold_pct / 100


def _small(found: ToolSnapshot, room: float) -> ToolSnapshot:
    """The tools in the short form of a small model; functions of the session stay as they are, and tools of
    servers where all of them fit in so many tokens.
    """
    toolsets = {name: one.toolset for name, one in found.tools.items()}
    own = [one for one in found.definitions if toolsets[one["function"]["name"]] == TOOLSET]
    served = [one for one in found.definitions if is_of_server(toolsets[one["function"]["name"]])]
    if sum(tokens(written(one)) for one in served) <= room:
        own += served
    return replace(
        found,
        definitions=(*import_object("hermes.models.local.local_prompt").definitions(found.definitions), *own),
    )


def is_small(endpoint: Endpoint, settings: Settings) -> bool:
    """Whether a model gets the small prompt and few tools."""
    if settings[AgentSettings].prompt == "full":
        return False
    return endpoint.local or endpoint.context_window <= SMALL_WINDOW
