"""Named bundles of tools: out of the data, out of the registry, or both; resolved to tool names."""

from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct

from hermes.lib.data_files import data_table
from hermes.lib.nearest import nearest
from hermes.tools.registry import ToolRegistry
from hermes.types.error import ConfigError

EVERYTHING = frozenset({"all", "*"})
LEGACY = {
    "web_tools": "web",
    "terminal_tools": "terminal",
    "vision_tools": "vision",
    "image_tools": "image_gen",
    "skills_tools": "skills",
    "browser_tools": "browser",
    "cronjob_tools": "cronjob",
    "file_tools": "file",
    "tts_tools": "tts",
}
"""Names that toolsets had in older settings."""


class Toolset(Struct, frozen=True, kw_only=True):
    """One bundle: its own tools and the bundles it includes; `platform` marks the preset of an app."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    platform: bool = False


@cache
def bundled() -> Mapping[str, Toolset]:
    """The toolsets of the package's data, by name."""
    tree = data_table("toolsets.toml")
    return {name: _toolset(name, row) for name, row in tree.items()}


def known_names(registry: ToolRegistry) -> list[str]:
    """Every name that can be resolved but aliases and legacy names, sorted."""
    return sorted({*bundled(), *registry.get_registered_toolset_names()})


def server_toolsets(registry: ToolRegistry) -> list[str]:
    """The toolsets of MCP servers, which a session has unless it chooses."""
    return [name for name in registry.get_registered_toolset_names() if is_of_server(name)]


def is_of_server(toolset: str) -> bool:
    """Whether a toolset is that of an MCP server."""
    return toolset.startswith("mcp-")


def resolve(name: str, registry: ToolRegistry, table: Mapping[str, Toolset] | None = None) -> frozenset[str]:
    """The tool names of a toolset; ConfigError when it is unknown or its includes go round in a circle."""
    if name in EVERYTHING:
        return frozenset().union(*(resolve(each, registry, table) for each in known_names(registry)))
    return frozenset(
        _walk(
            registry.get_toolset_alias_target(name) or LEGACY.get(name, name),
            registry,
            bundled() if table is None else table,
            (),
        )
    )


def resolve_all(names: Iterable[str], registry: ToolRegistry) -> frozenset[str]:
    """The tool names of several toolsets together; the order of the names does not matter."""
    return frozenset().union(*(resolve(name, registry) for name in names))


def _walk(name: str, registry: ToolRegistry, table: Mapping[str, Toolset], path: tuple[str, ...]) -> set[str]:
    if name in path:
        raise ConfigError(
            f"Toolsets include each other in a circle: {' → '.join([*path[path.index(name) :], name])}."
        )
    registered = registry.get_tool_names_for_toolset(name)
    toolset = table.get(name)
    if toolset is None and not registered:
        near = nearest(name, {*table, *registry.get_registered_toolset_names()})
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ConfigError(f"There is no toolset {name!r}.{hint} hermes tools list --toolsets shows them.")
    if toolset is None:
        return set(registered)
    included = (_walk(each, registry, table, (*path, name)) for each in toolset.includes)
    return {*registered, *toolset.tools}.union(*included)


def _toolset(name: str, row: Mapping[str, object]) -> Toolset:
    def words(key: str) -> tuple[str, ...]:
        given = row.get(key, [])
        if not isinstance(given, list):
            raise TypeError(f"toolsets.toml: {name}.{key} is a list")
        return tuple(given)

    return Toolset(
        name=name,
        description=str(row.get("description", "")),
        tools=words("tools"),
        includes=words("includes"),
        platform=bool(row.get("platform", False)),
    )
