"""From registered tools to what the model is shown: resolve, filter, override, patch, sort, wrap, remember."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes.config.environ import environment
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.needs import lacking
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.toolsets import known_names, resolve_all
from hermes.types.tool import Snapshot, ToolEntry

logger = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
MOST_ANSWERS = 8
Definition = Mapping[str, Any]


@dataclass(slots=True)
class Checks:
    """Answers of availability checks, remembered for 30 s; a check that raises counts as no."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[Callable[[], object], tuple[float, bool]] = field(default_factory=dict)

    def available(self, check: Callable[[], object] | None) -> bool:
        """Whether a tool with this check can be used now; each check is asked once, however many tools share it."""
        if check is None:
            return True
        asked, answer = self._known.get(check, (float("-inf"), False))
        if self.clock() - asked < CHECK_SECONDS:
            return answer
        answer = _passes(check)
        self._known[check] = (self.clock(), answer)
        return answer

    def fresh_until(self, checks: Iterable[Callable[[], object] | None]) -> float:
        """When the first of these answers is to be asked anew."""
        return min((self._known[check][0] for check in checks if check in self._known), default=float("inf")) + CHECK_SECONDS


def _passes(check: Callable[[], object]) -> bool:
    try:
        return bool(check())
    except Exception:  # noqa: BLE001  # fail-safe: a broken check means unavailable
        return False


@dataclass(slots=True)
class Schemas:
    """Definitions for one registry. Answers are remembered by generation, configuration and the secrets that are missing.

    `environ` has the secrets that tools need; None is the environment of the process.
    """

    registry: ToolRegistry = field(default_factory=lambda: registry)
    checks: Checks = field(default_factory=Checks)
    environ: Mapping[str, str] | None = None
    _answers: dict[tuple[object, ...], tuple[float, Snapshot]] = field(default_factory=dict)

    def snapshot(self, enabled: Iterable[str] | None = None, disabled: Iterable[str] | None = None) -> Snapshot:
        """The tools a session gets, fixed; ConfigError when a toolset is unknown."""
        chosen = (None if enabled is None else tuple(enabled), None if disabled is None else tuple(disabled))
        key = (self.registry.generation, *chosen, self._missing())
        known = self._answers.get(key)
        if known is not None and self.checks.clock() < known[0]:
            return known[1]
        answer = self._make(*chosen)
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.pop(next(iter(self._answers)))
        self._answers[key] = (self.checks.fresh_until(entry.check_fn for entry in self.registry.entries().values()), answer)
        return answer

    def is_toolset_available(self, toolset: str) -> bool:
        """Whether any tool registered for the toolset can be used now."""
        entries = self.registry.entries().values()
        return any(self.available(entry) for entry in entries if entry.toolset == toolset)

    def available(self, entry: ToolEntry) -> bool:
        """Whether a tool can be used now: its check says so, or without one the secrets it needs are set."""
        return self.checks.available(entry.check_fn) and not self.lacking(entry)

    def lacking(self, entry: ToolEntry) -> tuple[str, ...]:
        """The secrets that keep a tool from being offered."""
        return lacking(entry, environment() if self.environ is None else self.environ)

    def _missing(self) -> frozenset[str]:
        return frozenset(name for entry in self.registry.entries().values() for name in self.lacking(entry))

    def _make(self, enabled: tuple[str, ...] | None, disabled: tuple[str, ...] | None) -> Snapshot:
        wanted = resolve_all(known_names(self.registry) if enabled is None else enabled, self.registry)
        wanted -= resolve_all(disabled or (), self.registry)
        chosen = {name: entry for name, entry in self.registry.entries().items() if name in wanted and self.available(entry)}
        definitions = tuple(definition(entry, chosen, self.registry.get_all_tool_names()) for entry in chosen.values())
        return Snapshot(tools=chosen, definitions=definitions, generation=self.registry.generation)


def definition(entry: ToolEntry, present: Iterable[str], known: Iterable[str]) -> Definition:
    """One tool in the OpenAI function form, naming no tool that is not `present`."""
    overrides = entry.dynamic_schema_overrides() if entry.dynamic_schema_overrides else {}
    schema = {**entry.schema, **overrides}
    absent = sorted(set(known) - set(present))
    function = {
        "name": entry.name,
        "description": without_names(str(schema.get("description") or entry.description), absent),
        "parameters": _patched(schema.get("parameters") or {"type": "object", "properties": {}}, absent),
    }
    return {"type": "function", "function": function}


def without_names(text: str, absent: Iterable[str]) -> str:
    """`text` without the sentences that name a tool which is not there: a model calls what it reads of."""
    names = [name for name in absent if name in text]
    if not names:
        return text
    named = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
    return " ".join(sentence for sentence in re.split(r"(?<=[.!?])\s+", text) if not named.search(sentence))


def _patched(schema: Any, absent: list[str]) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: without_names(value, absent) if key == "description" and isinstance(value, str) else _patched(value, absent)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [item for item in (_patched(item, absent) for item in schema) if item not in absent]
    return schema


_schemas = Schemas()


def get_tool_definitions(
    enabled_toolsets: Iterable[str] | None = None,
    disabled_toolsets: Iterable[str] | None = None,
    quiet_mode: bool = False,  # noqa: FBT001, FBT002  # the documented signature
) -> list[Definition]:
    """The definitions for the named toolsets (all if None) less the disabled ones, sorted by name; unless quiet, logs how many."""
    discover_builtin_tools()
    found = _schemas.snapshot(enabled_toolsets, disabled_toolsets).definitions
    if not quiet_mode:
        logger.info("%d tools offered", len(found))
    return list(found)
