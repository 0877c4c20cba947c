"""The registry of tools: the root of the tool system, and its published interface.

Each runtime has a registry of its own on top of the one of the process, which holds the built-in tools and
what a program registers by itself. The published name `registry` stands for the one that loads a file or runs
a call. Interface as documented in the tools-runtime and adding-tools papers: `registry.register(...)` at the
top of a tool file.
"""

import inspect
import json
import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, Protocol, cast

from msgspec import Struct, field, structs

from hermes.tools.availability import Checks
from hermes.tools.definitions import Definition, check_definition, definitions
from hermes.types.tool import UNDECLARED, Handler, ToolEntry, ToolManifest

logger = logging.getLogger(__name__)

Dispatch = Callable[[str, Mapping[str, Any], Mapping[str, Any]], str]


class ToolSource(Protocol):
    """Somewhere that tools come from: built-in modules, a folder, functions, a server, a plugin."""

    @property
    def generation(self) -> int:
        """A number that rises with every change of the tools."""

    def entries(self) -> dict[str, ToolEntry]:
        """The tools by name, sorted, each with its provenance in `source`."""


class ToolRegistry:
    """Tools by name, on top of other sources; of two tools of one name the upper one counts.

    Every mutation raises `generation`; readers get copies, so any thread may read at any time.
    """

    def __init__(self, *below: ToolSource) -> None:
        # invariant: a tool and the generation that announces it change together
        self._lock = threading.RLock()
        self._below = below
        self._tools: dict[str, ToolEntry] = {}
        self._toolset_checks: dict[str, Callable[[], object]] = {}
        self._aliases: dict[str, str] = {}
        self._dispatch: Dispatch | None = None
        self._changes = 0
        self.checks = Checks()

    @property
    def generation(self) -> int:
        """A number that rises with every change, here or below."""
        return self._changes + sum(one.generation for one in self._below)

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
        outside: bool | None = None,
        manifest: ToolManifest = UNDECLARED,
    ) -> None:
        """Add or replace a tool.

        A name that another toolset or another tool file holds is refused and logged, unless `override` or
        both are MCP. The first `check_fn` of a toolset is the toolset's own check. `requires_env` is shown to
        the user and names the secrets that the tool may read. `outside` says whether it gives text from
        outside, fenced for the model as data; None: if the `manifest`, which declares what the tool needs
        and does, lets it connect. ValueError for a name or schema that cannot be.
        """
        flat, place = _flat(schema, name), _loading.get()
        check_definition(name, flat)
        source = place.source if place else ""
        entry = ToolEntry(
            name=name,
            toolset=toolset,
            schema=flat,
            handler=handler,
            check_fn=check_fn,
            requires_env=tuple(requires_env or ()),
            is_async=is_async,
            description=description or str(flat.get("description", "")),
            emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides,
            outside=outside,
            manifest=structs.replace(manifest, secrets=tuple(requires_env or manifest.secrets)),
            source=source or str(getattr(handler, "__module__", "")),
        )
        with self._lock:
            if self._may_hold(name, toolset, override=override):
                self._tools[name] = entry
                if check_fn is not None:
                    self._toolset_checks.setdefault(toolset, check_fn)
                self._changes += 1

    def deregister(self, name: str) -> None:
        """Remove a tool that was registered here; no fault if it is not there."""
        with self._lock:
            if self._tools.pop(name, None) is not None:
                self._changes += 1

    def get_definitions(self, tool_names: Iterable[str], quiet: bool = False) -> list[Definition]:
        """The definitions of the named tools that can be used now, sorted by name.

        Unless quiet, logs which are left out.
        """
        entries, named = self.entries(), set(tool_names)
        usable = {name: one for name, one in entries.items() if self.checks.available(one.check_fn)}
        if not quiet and named - usable.keys():
            logger.info("Tools left out: %s", ", ".join(sorted(named - usable.keys())))
        wanted = (one for name, one in usable.items() if name in named)
        return [*definitions(wanted, present=usable, known=entries)]

    def deregister_source(self, source: str) -> None:
        """Remove every tool that was registered here from one place, and take none from there any more."""
        for module, place in list(_owners.items()):
            if place.registry is self and place.source == source:
                del _owners[module]
        with self._lock:
            kept = {name: one for name, one in self._tools.items() if one.source != source}
            if len(kept) < len(self._tools):
                checks = {(one.toolset, one.check_fn) for one in kept.values()}
                self._toolset_checks = {
                    toolset: check
                    for toolset, check in self._toolset_checks.items()
                    if (toolset, check) in checks
                }
                self._tools = kept
                self._changes += 1

    @contextmanager
    def loading(self, source: str, module: str = "", *, how_allowed: str = "") -> Iterator[list[str]]:
        """Let what is registered by the published name land here, with this provenance; all of it, or nothing
        when the body raises. Gives a list that tells what was refused: with `how_allowed`, words that tell
        how a user allows it, whatever would replace a tool from elsewhere.

        What code of `module` registers later, from threads of its own too, lands here until the source is
        deregistered.
        """
        before, checks, aliases = dict(self._tools), dict(self._toolset_checks), dict(self._aliases)
        place = _Loading(self, source, how_allowed)
        if module:
            _owners[module] = place
        try:
            with place.registering(), current_registry(self):
                yield place.refused
        except BaseException:
            with self._lock:
                others = {name: one for name, one in self._tools.items() if one.source != source}
                self._tools, self._toolset_checks, self._aliases = {**before, **others}, checks, aliases
                self._changes += 1
            _owners.pop(module, None)
            raise

    def register_toolset_alias(self, alias: str, toolset: str) -> None:
        """Let `alias` stand for `toolset` wherever a toolset is named."""
        with self._lock:
            self._aliases[alias] = toolset
            self._changes += 1

    def get_toolset_alias_target(self, alias: str) -> str | None:
        """The toolset an alias stands for, or None."""
        return self._aliases.get(alias)

    def get_registered_toolset_aliases(self) -> dict[str, str]:
        """A copy of all aliases."""
        with self._lock:
            return dict(self._aliases)

    def get_entry(self, name: str) -> ToolEntry | None:
        """The tool of that name, or None."""
        return self._tools.get(name) or self.entries().get(name)

    def entries(self) -> dict[str, ToolEntry]:
        """A copy of all tools by name, sorted, those of the sources below included."""
        layers = [one.entries() for one in self._below]
        with self._lock:
            layers.append(self._tools)
            return dict(sorted({name: one for layer in layers for name, one in layer.items()}.items()))

    def get_all_tool_names(self) -> list[str]:
        """All names, sorted."""
        return list(self.entries())

    def get_schema(self, name: str) -> Mapping[str, Any] | None:
        """A tool's schema, whether or not it is available."""
        entry = self.get_entry(name)
        return entry.schema if entry else None

    def get_toolset_for_tool(self, name: str) -> str | None:
        """The toolset a tool belongs to, or None."""
        entry = self.get_entry(name)
        return entry.toolset if entry else None

    def get_emoji(self, name: str, default: str = "⚡") -> str:
        """A tool's emoji, or `default`."""
        entry = self.get_entry(name)
        return entry.emoji if entry and entry.emoji else default

    def get_max_result_size(self, name: str, default: int = 100_000) -> int:
        """How many characters of a tool's result go to the model."""
        entry = self.get_entry(name)
        return entry.max_result_size_chars if entry and entry.max_result_size_chars is not None else default

    def get_tool_names_for_toolset(self, toolset: str) -> list[str]:
        """Names of the tools registered for a toolset, sorted."""
        return [name for name, entry in self.entries().items() if entry.toolset == toolset]

    def get_registered_toolset_names(self) -> list[str]:
        """Toolsets that some tool was registered for, sorted."""
        return sorted({entry.toolset for entry in self.entries().values()})

    def is_toolset_available(self, toolset: str) -> bool:
        """Tell whether a toolset can be used now: its first check decides; without one it can, with tools."""
        entries = [entry for entry in self.entries().values() if entry.toolset == toolset]
        checks = (one.check_fn for one in entries if one.check_fn is not None)
        return bool(entries) and self.checks.available(
            self._toolset_checks.get(toolset) or next(checks, None)
        )

    def connect(self, dispatch: Dispatch) -> None:
        """Set what `dispatch` runs a tool with, by its name."""
        self._dispatch = dispatch

    def dispatch(self, name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        """Run a tool and give its JSON string; synchronous, from any thread, also inside a running loop.

        Never raises.
        """
        if self._dispatch is None:
            return tool_error("No dispatcher is connected; import hermes.tools.dispatch first")
        return self._dispatch(name, args, kwargs)

    def _may_hold(self, name: str, toolset: str, *, override: bool) -> bool:
        present, place = self.get_entry(name), _loading.get()
        if present is not None and place is not None and place.how_allowed and present.source != place.source:
            return place.refuse(f"the tool {name} was refused: there is one already; {place.how_allowed}")
        if present is None or (present.toolset.startswith("mcp-") and toolset.startswith("mcp-")):
            return True
        # A file may bring its own form of a tool that lies below, and not take that of another file
        is_of_other_file = place is not None and name in self._tools and present.source != place.source
        if present.toolset == toolset and not is_of_other_file:
            return True
        holder = (
            f"{present.source} has that name"
            if is_of_other_file
            else f"toolset {present.toolset} has that name"
        )
        if override:
            logger.info("Tool %s of toolset %s replaces another (override=True): %s", name, toolset, holder)
            return True
        why = f"the tool {name} of toolset {toolset} was refused: {holder}; pass override=True to replace it"
        if place is not None:
            return place.refuse(why)
        logger.error("%s", why)
        return False


class _Loading(Struct, frozen=True):
    """Where what a file registers goes, with the file's name; what was refused of it, and with `how_allowed`
    how a user lets it replace tools from elsewhere.
    """

    registry: ToolRegistry
    source: str
    how_allowed: str = ""
    refused: list[str] = field(default_factory=list)

    @contextmanager
    def registering(self) -> Iterator[None]:
        """Give what is registered meanwhile this provenance."""
        token = _loading.set(self)
        try:
            yield
        finally:
            _loading.reset(token)

    def refuse(self, why: str) -> bool:
        """Note what was refused."""
        logger.error("%s: %s", self.source, why)
        self.refused.append(why)
        return False

    def register(self, *args: Any, **keywords: Any) -> None:
        """Register a tool of the file."""
        with self.registering():
            self.registry.register(*args, **keywords)


def _flat(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A schema in the flat form: files may also bring the whole OpenAI function form."""
    inner = schema.get("function", schema) if schema.get("type") == "function" else schema
    return inner if inner.get("name") == name else {**inner, "name": name}


def tool_result(data: Any = None, **fields: Any) -> str:
    """The JSON string for a result: `data` as it is, or the keywords as an object; non-ASCII is kept, NaN and
    infinities become null.
    """
    return _json(fields if data is None else data)


def tool_error(message: str, **fields: Any) -> str:
    """The JSON string `{"error": message, …}`."""
    return _json({"error": message, **fields})


def _json(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False)


def _finite(value: Any) -> Any:
    """A JSON-like tree with None for what JSON has no number for: NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


PROCESS = ToolRegistry()
"""What belongs to no runtime: built-in tools, and those that a program registers by itself."""

_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # `dumps` makes one each time
TOOL_FILES: Final = "hermes_tool_files."
PLUGIN_MODULES: Final = "hermes_plugins."
GUEST_MODULES: Final = (TOOL_FILES, PLUGIN_MODULES)
"""Modules that are not ours are loaded under these names: those of tool files, and of plugins."""
PLUGIN_SOURCE: Final = "plugin:"
"""What the source of a plugin's tools begins with."""

_loading: ContextVar[_Loading | None] = ContextVar("loading", default=None)
_current: ContextVar[ToolRegistry | None] = ContextVar("registry", default=None)
_owners: Final[dict[str, _Loading]] = {}  # by the name of a tool file's module, as long as it is in use


def selected_registry() -> ToolRegistry:
    """The registry that the published name stands for here and now."""
    return _current.get() or PROCESS


@contextmanager
def current_registry(chosen: ToolRegistry) -> Iterator[None]:
    """Let the published name `registry` stand for this one, in this task or thread and what it starts."""
    token = _current.set(chosen)
    try:
        yield
    finally:
        _current.reset(token)


class _CurrentRegistry:
    """The published name: what is asked of it is asked of the registry in charge here and now."""

    def __getattr__(self, name: str) -> Any:
        if _current.get() is not None:
            return getattr(_current.get(), name)
        place = _owner(inspect.currentframe())
        if place is None:
            return getattr(PROCESS, name)
        return place.register if name == "register" else getattr(place.registry, name)


def _owner(frame: FrameType | None) -> _Loading | None:
    """Where the tool file whose code called belongs, when nothing else says so (in a thread of its own); None
    for other code.
    """
    caller = frame.f_back if frame else None
    module = str(caller.f_globals.get("__name__", "")) if caller else ""
    package = ".".join(module.split(".")[:2])
    if module.startswith(GUEST_MODULES) and package not in _owners:
        raise RuntimeError("This file is not in use any more, or was not loaded whole: it registers nothing.")
    return _owners.get(package)


# Typed as what it stands for, so that tool files are checked against the real signatures.
registry = cast("ToolRegistry", _CurrentRegistry())
"""The registry that loads the file, or runs the call, in which this name is used; else the process's."""
