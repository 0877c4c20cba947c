"""The process-wide registry of tools; the root of the tool system, and its published interface.

Interface as documented in the tools-runtime and adding-tools papers: `registry.register(...)` at the top of a tool file.
"""

import difflib
import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes.types.tool import Handler, ToolEntry

logger = logging.getLogger(__name__)

Dispatcher = Callable[[ToolEntry, Mapping[str, Any], Mapping[str, Any]], str]


class ToolRegistry:
    """Tools by name. Every mutation raises `generation`; readers get copies, so any thread may read at any time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # invariant: a tool and the generation that announces it change together
        self._tools: dict[str, ToolEntry] = {}
        self._aliases: dict[str, str] = {}
        self._dispatcher: Dispatcher | None = None
        self.generation = 0

    def register(
        self,
        name: str,
        toolset: str,
        schema: Mapping[str, Any],
        handler: Handler,
        check_fn: Callable[[], object] | None = None,
        requires_env: Sequence[str] | None = None,
        is_async: bool = False,
        description: str = "",
        emoji: str = "",
        max_result_size_chars: int | None = None,
        dynamic_schema_overrides: Callable[[], Mapping[str, Any]] | None = None,
        override: bool = False,
        outside: bool = False,
    ) -> None:
        """Add or replace a tool; a name that another toolset holds is refused and logged, unless `override` or both are MCP.

        `outside` says that what the tool gives comes from outside: the model gets it fenced, as data.
        """
        entry = ToolEntry(
            name=name,
            toolset=toolset,
            schema=_flat(schema, name),
            handler=handler,
            check_fn=check_fn,
            requires_env=tuple(requires_env or ()),
            is_async=is_async,
            description=description or str(_flat(schema, name).get("description", "")),
            emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides,
            outside=outside,
        )
        with self._lock:
            if self._may_hold(name, toolset, override=override):
                self._tools[name] = entry
                self.generation += 1

    def deregister(self, name: str) -> None:
        """Remove a tool; no fault if it is not there."""
        with self._lock:
            if self._tools.pop(name, None) is not None:
                self.generation += 1

    def register_toolset_alias(self, alias: str, toolset: str) -> None:
        """Let `alias` stand for `toolset` wherever a toolset is named."""
        with self._lock:
            self._aliases[alias] = toolset
            self.generation += 1

    def get_toolset_alias_target(self, alias: str) -> str | None:
        """The toolset an alias stands for, or None."""
        return self._aliases.get(alias)

    def get_registered_toolset_aliases(self) -> dict[str, str]:
        """A copy of all aliases."""
        with self._lock:
            return dict(self._aliases)

    def get_entry(self, name: str) -> ToolEntry | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def entries(self) -> dict[str, ToolEntry]:
        """A copy of all tools by name, sorted."""
        with self._lock:
            return dict(sorted(self._tools.items()))

    def get_all_tool_names(self) -> list[str]:
        """All names, sorted."""
        return list(self.entries())

    def get_schema(self, name: str) -> Mapping[str, Any] | None:
        """A tool's schema, whether or not it is available."""
        entry = self._tools.get(name)
        return entry.schema if entry else None

    def get_toolset_for_tool(self, name: str) -> str | None:
        """The toolset a tool belongs to, or None."""
        entry = self._tools.get(name)
        return entry.toolset if entry else None

    def get_emoji(self, name: str, default: str = "⚡") -> str:
        """A tool's emoji, or `default`."""
        entry = self._tools.get(name)
        return entry.emoji if entry and entry.emoji else default

    def get_max_result_size(self, name: str, default: int = 100_000) -> int:
        """How many characters of a tool's result go to the model."""
        entry = self._tools.get(name)
        return entry.max_result_size_chars if entry and entry.max_result_size_chars is not None else default

    def get_tool_names_for_toolset(self, toolset: str) -> list[str]:
        """Names of the tools registered for a toolset, sorted."""
        return [name for name, entry in self.entries().items() if entry.toolset == toolset]

    def get_registered_toolset_names(self) -> list[str]:
        """Toolsets that some tool was registered for, sorted."""
        return sorted({entry.toolset for entry in self.entries().values()})

    def connect(self, dispatcher: Dispatcher) -> None:
        """Set what `dispatch` runs a tool with; called once, by `hermes.tools.dispatch`."""
        self._dispatcher = dispatcher

    def dispatch(self, name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        """Run a tool and give its JSON string; synchronous, from any thread, also inside a running loop. Never raises."""
        entry = self._tools.get(name)
        if entry is None:
            return unknown_tool(name, self.get_all_tool_names())
        if self._dispatcher is None:
            return tool_error("No dispatcher is connected; import hermes.tools.dispatch first")
        return self._dispatcher(entry, args, kwargs)

    def _may_hold(self, name: str, toolset: str, *, override: bool) -> bool:
        present = self._tools.get(name)
        if present is None or present.toolset == toolset:
            return True
        if present.toolset.startswith("mcp-") and toolset.startswith("mcp-"):
            return True
        if override:
            logger.info("Tool %s: toolset %s replaces toolset %s (override=True)", name, toolset, present.toolset)
            return True
        logger.error(
            "Tool %s of toolset %s was refused: toolset %s has that name; pass override=True to replace it", name, toolset, present.toolset
        )
        return False


def _flat(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A schema in the flat form: files may also bring the whole OpenAI function form."""
    inner = schema.get("function", schema) if schema.get("type") == "function" else schema
    return inner if inner.get("name") == name else {**inner, "name": name}


def tool_result(data: Any = None, **fields: Any) -> str:
    """The JSON string for a result: `data` as it is, or the keywords as an object; non-ASCII is kept."""
    return json.dumps(fields if data is None else data, ensure_ascii=False)


def tool_error(message: str, **fields: Any) -> str:
    """The JSON string `{"error": message, …}`."""
    return json.dumps({"error": message, **fields}, ensure_ascii=False)


def unknown_tool(name: str, names: Sequence[str]) -> str:
    """The error for a tool that is not there, with the names nearest to it."""
    folded = {known.lower().replace("-", "_"): known for known in names}
    near = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(folded[match] for match in near)}?" if near else f" There are: {', '.join(names) or 'none'}."
    return tool_error(f"Unknown tool: {name}.{hint}")


registry = ToolRegistry()
"""The one registry of the process."""
