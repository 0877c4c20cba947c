"""The module `hermes_tools` of one script: the tools that it may call, as functions with real signatures."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from hermes.tools.function import TOOLSET
from hermes.types.tool import ToolEntry, ToolSnapshot

CALLABLE: Final = frozenset(
    {"web_search", "web_extract", "read_file", "write_file", "search_files", "patch", "terminal"}
)
"""The built-in tools that scripts may call; the session's own functions are beside them."""

WITHHELD: Final[Mapping[str, tuple[str, ...]]] = {"terminal": ("background", "pty", "notify_on_complete")}
"""Arguments that scripts have not: what they start ends with them."""

_LASTING: Final = frozenset({"memory", "settings"})


def callable_tools(tools: ToolSnapshot) -> dict[str, ToolEntry]:
    """The tools of a session that its scripts may call."""
    return {
        name: one
        for name, one in tools.tools.items()
        if name in CALLABLE or (one.toolset == TOOLSET and _LASTING.isdisjoint(one.manifest.effects))
    }


def module_text(entries: Iterable[ToolEntry]) -> str:
    """The source of the module."""
    client = (files("hermes.agent.code_execution") / "client.py").read_text(encoding="utf-8")
    return "\n\n".join([client, *(_function(one) for one in entries if _is_name(one.name))])


def _function(entry: ToolEntry) -> str:
    parameters = entry.schema.get("parameters") or {}
    withheld = WITHHELD.get(entry.name, ())
    known = {name: one for name, one in (parameters.get("properties") or {}).items() if name not in withheld}
    words = "\n\n".join(filter(None, (_description(entry), "\n".join(_told(known)))))
    if not all(map(_is_name, known)):
        return f"def {entry.name}(**arguments):\n    {words!r}\n    return _call({entry.name!r}, arguments)\n"
    needed = [name for name in known if name in (parameters.get("required") or ())]
    signature = ", ".join([*needed, *(f"{name}=None" for name in known if name not in needed)])
    given = ", ".join(f"{name!r}: {name}" for name in known)
    return f"def {entry.name}({signature}):\n    {words!r}\n    return _call({entry.name!r}, {{{given}}})\n"


def _description(entry: ToolEntry) -> str:
    return str(entry.schema.get("description") or entry.description)


def _told(properties: Mapping[str, Any]) -> Iterator[str]:
    for name, one in properties.items():
        words = one.get("description") if isinstance(one, Mapping) else ""
        if words:
            yield f"{name}: {words}"


def _is_name(word: str) -> bool:
    return word.isidentifier() and not keyword.iskeyword(word) and not word.startswith("_")
