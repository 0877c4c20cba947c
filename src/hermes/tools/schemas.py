"""The tools and definitions of a session: toolsets resolved, checks asked, answers remembered."""

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from hermes.tools.definitions import Definition, definitions
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.registry import PROCESS, ToolRegistry, selected_registry
from hermes.tools.toolsets import known_names, resolve_all
from hermes.types.tool import ToolSnapshot

logger = logging.getLogger(__name__)

MOST_ANSWERS = 8


class Schemas(Struct):
    """The definitions of one registry, remembered by its generation and the state of the configuration file.

    What a tool's `dynamic_schema_overrides` reads may come from that file, so an edit makes them stale.
    """

    registry: ToolRegistry
    config_file: Path | None = None
    _answers: dict[tuple[object, ...], tuple[float, ToolSnapshot]] = field(default_factory=dict)

    def snapshot(
        self, enabled: Iterable[str] | None = None, disabled: Iterable[str] | None = None
    ) -> ToolSnapshot:
        """The tools a session gets, fixed; ConfigError when a toolset is unknown."""
        chosen = (None if enabled is None else tuple(enabled), None if disabled is None else tuple(disabled))
        key = (self.registry.generation, _stamp(self.config_file), *chosen)
        checks = self.registry.checks
        known = self._answers.get(key)
        if known is not None and checks.clock() < known[0]:
            return known[1]
        answer = self._make(*chosen)
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.pop(next(iter(self._answers)))
        entries = self.registry.entries().values()
        self._answers[key] = (checks.fresh_until(entry.check_fn for entry in entries), answer)
        return answer

    def _make(self, enabled: tuple[str, ...] | None, disabled: tuple[str, ...] | None) -> ToolSnapshot:
        registry = self.registry
        wanted = resolve_all(known_names(registry) if enabled is None else enabled, registry)
        wanted -= resolve_all(disabled or (), registry)
        offered = {name: one for name, one in registry.entries().items() if name in wanted}
        chosen = {name: one for name, one in offered.items() if registry.checks.available(one.check_fn)}
        known = registry.get_all_tool_names()
        shown = definitions(chosen.values(), present=chosen, known=known)
        return ToolSnapshot(tools=chosen, definitions=shown, generation=registry.generation)


def _stamp(path: Path | None) -> tuple[int, int]:
    """The time and size of a file; zeros for none."""
    try:
        found = os.stat(path) if path else None  # noqa: PTH116  # asked at every session: half the cost
    except OSError:
        found = None
    return (found.st_mtime_ns, found.st_size) if found else (0, 0)


_PROCESS = Schemas(PROCESS)


def get_tool_definitions(
    enabled_toolsets: Iterable[str] | None = None,
    disabled_toolsets: Iterable[str] | None = None,
    quiet_mode: bool = False,  # noqa: FBT001, FBT002  # the documented signature
) -> list[Definition]:
    """The definitions for the named toolsets (all if None) less the disabled ones, sorted by name.

    Unless quiet, logs how many.
    """
    discover_builtin_tools()
    here = selected_registry()
    schemas = _PROCESS if here is PROCESS else Schemas(here)
    found = schemas.snapshot(enabled_toolsets, disabled_toolsets).definitions
    if not quiet_mode:
        logger.info("%d tools offered", len(found))
    return list(found)
