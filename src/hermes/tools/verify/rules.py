"""What must hold of a tool's schema, and of what its handler gives."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hermes.lib.schema_patterns import schema_checker
from hermes.lib.text import clip
from hermes.tools.verify.faults import ToolFault
from hermes.types.tool import ToolEntry

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What every provider takes as a name."""
_TRACEBACK: Final = "Traceback (most recent call last)"
DEFAULT_CAP: Final = 100_000


def schema_faults(entry: ToolEntry) -> list[ToolFault]:
    """What is wrong with the schema of a tool as a model would get it."""
    try:
        schema = {**entry.schema, **(entry.dynamic_schema_overrides or dict)()}
    except Exception as error:  # noqa: BLE001  # a tool file's own code
        return [ToolFault("schema", f"dynamic_schema_overrides raised {type(error).__name__}: {error}.")]
    return [ToolFault("schema", words) for words in _schema_words(entry, schema)]


def parameters_of(entry: ToolEntry) -> Mapping[str, Any]:
    """The JSON Schema of a tool's arguments."""
    found: Mapping[str, Any] = entry.schema.get("parameters") or {"type": "object", "properties": {}}
    return found


def result_faults(entry: ToolEntry, given: object) -> list[ToolFault]:
    """What is wrong with what a handler gave."""
    if not isinstance(given, str):
        return [ToolFault("result", f"it gave {type(given).__name__} instead of a JSON string.")]
    try:
        value = json.loads(given, parse_constant=_refuse)
    except ValueError as error:
        return [ToolFault("result", f"it gave no JSON ({error}): {clip(given, 80)!r}.")]
    found = [ToolFault("error", words) for words in _error_words(value)]
    cap = entry.max_result_size_chars or DEFAULT_CAP
    if len(given) > cap:
        found.append(ToolFault("size", f"it gave {len(given)} characters; its cap is {cap}."))
    return found


def _schema_words(entry: ToolEntry, schema: Mapping[str, Any]) -> Iterator[str]:
    if not _NAME.fullmatch(entry.name):
        yield f"{entry.name!r} is no name that all providers take: letters, digits, _ and -, at most 64."
    if not str(schema.get("description") or entry.description).strip():
        yield "it has no description: a model is not told what it is for."
    parameters = schema.get("parameters") or {}
    error = next(iter(_meta_faults(parameters)), None)
    if error is not None:
        yield f"its parameters are no JSON Schema (2020-12): {clip(str(error.message), 200)}."
    elif not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        yield "its parameters are no object, and a model gives arguments by name."
    else:
        yield from _property_words(parameters)


def _meta_faults(parameters: Any) -> Iterator[Any]:
    checker = schema_checker()
    yield from checker(checker.META_SCHEMA).iter_errors(parameters)


def _property_words(parameters: Mapping[str, Any]) -> Iterator[str]:
    parts: Mapping[str, Any] = parameters.get("properties", {})
    if unknown := [name for name in parameters.get("required", ()) if name not in parts]:
        yield f"it requires {', '.join(unknown)}, which its properties do not have."
    for name, part in parts.items():
        if isinstance(part, Mapping) and "default" in part and not _fits(part["default"], part):
            yield f"the default of {name}, {part['default']!r}, does not fit its own schema."


def _fits(value: Any, part: Mapping[str, Any]) -> bool:
    return bool(schema_checker()(part).is_valid(value))


def _error_words(value: Any) -> Iterator[str]:
    error = value.get("error") if isinstance(value, dict) else None
    if not error:
        return
    if not isinstance(error, str):
        yield f"its error is {type(error).__name__}, not a sentence: {clip(str(error), 80)}."
    elif _TRACEBACK in error:
        yield "its error is a traceback, not a sentence."


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
