"""From a registered tool to what the model is shown: overrides, and no names of tools that are not there."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hermes.types.tool import ToolEntry

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
Definition = Mapping[str, Any]


def definitions(
    entries: Iterable[ToolEntry], *, present: Iterable[str], known: Iterable[str]
) -> tuple[Definition, ...]:
    """Tools in the OpenAI function form, naming none of the `known` ones that is not `present`."""
    absent = sorted(set(known) - set(present))
    return tuple(_definition(entry, absent) for entry in entries)


def _definition(entry: ToolEntry, absent: list[str]) -> Definition:
    overrides = entry.dynamic_schema_overrides() if entry.dynamic_schema_overrides else {}
    schema = {**entry.schema, **overrides}
    function = {
        "name": entry.name,
        "description": without_names(str(schema.get("description") or entry.description), absent),
        "parameters": _patched(schema.get("parameters") or {"type": "object", "properties": {}}, absent),
    }
    return {"type": "function", "function": function}


def check_definition(name: str, schema: Mapping[str, Any]) -> None:
    """Raise ValueError for a schema without an end, and for a name that providers do not take: one of them
    makes them refuse every request.
    """
    check_schema(name, schema)
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name {name[:80]!r} is none of a tool: letters, digits, _ and -, 64 at most")


def check_schema(name: str, schema: Mapping[str, Any]) -> None:
    """Raise ValueError for a schema without an end: one that contains itself, or is nested too deep."""
    try:
        _patched(schema, [])
    except RecursionError:
        raise ValueError(f"the schema of {name} contains itself, or is nested too deep") from None


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
            key: (
                without_names(value, absent)
                if key == "description" and isinstance(value, str)
                else _patched(value, absent)
            )
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [item for item in (_patched(item, absent) for item in schema) if item not in absent]
    return schema
