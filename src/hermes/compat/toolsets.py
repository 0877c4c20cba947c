"""`toolsets`: named bundles of tools under their published names (tools runtime paper)."""

from collections.abc import Iterable
from typing import Any, Final

from hermes.tools.registry import registry
from hermes.tools.toolsets import EVERYTHING, LEGACY, Toolset, bundled, known_names, resolve, resolve_all
from hermes.types.error import ConfigError


def _row(toolset: Toolset) -> dict[str, Any]:
    return {
        "description": toolset.description,
        "tools": list(toolset.tools),
        "includes": list(toolset.includes),
    }


TOOLSETS: Final = {name: _row(toolset) for name, toolset in bundled().items()}
"""The static table: description, tools and includes by name."""


def get_toolset(name: str) -> dict[str, Any] | None:
    """One toolset with the tools that were registered for it; None when there is none of that name."""
    name = registry.get_toolset_alias_target(name) or LEGACY.get(name, name)
    registered = registry.get_tool_names_for_toolset(name)
    if name not in TOOLSETS and not registered:
        return None
    row = TOOLSETS.get(name) or {"description": f"Tools of {name}", "tools": [], "includes": []}
    return {**row, "tools": sorted({*row["tools"], *registered})}


def get_all_toolsets() -> dict[str, dict[str, Any]]:
    """Every toolset by name, those of plugins and tool files included."""
    return {name: row for name in known_names(registry) if (row := get_toolset(name)) is not None}


def get_toolset_names() -> list[str]:
    """The names of all toolsets, sorted."""
    return known_names(registry)


def resolve_toolset(name: str) -> list[str]:
    """The tool names of a toolset and what it includes, sorted; none for an unknown one."""
    return sorted(resolve(name, registry)) if validate_toolset(name) else []


def resolve_multiple_toolsets(toolset_names: Iterable[str]) -> list[str]:
    """The tool names of several toolsets together, sorted; unknown ones are passed over."""
    return sorted(resolve_all([name for name in toolset_names if validate_toolset(name)], registry))


def validate_toolset(name: str) -> bool:
    """Whether a name is a toolset: from the table, from what was registered, or an alias."""
    try:
        return name in EVERYTHING or bool(resolve(name, registry)) or name in TOOLSETS
    except ConfigError:
        return False
