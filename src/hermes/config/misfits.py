"""What is wrong with a value that a key does not take, in a person's words: what it takes."""

import re
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct

_AT: Final = " - at `"
_STEP: Final = re.compile(r"\.(?P<field>\w+)|\[[^\]]*\]")
_UNKNOWN: Final = "Object contains unknown field"
_REFUSED: Final = re.compile(rf"{_UNKNOWN} |Invalid enum value |Expected .*, got ")
_WORDS: Final = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`str`": "text",
    "`array`": "a list",
    "`object`": "a table",
    "`null`": "null",
}


def misfit(error: msgspec.ValidationError, kind: Any) -> str:
    """A validator's sentence about a value for a key of that kind; where only some words are taken, these."""
    fault, _, place = str(error).partition(_AT)
    steps = [step["field"] or "" for step in _STEP.finditer(place)]
    name = ".".join(filter(None, steps))
    for step in steps:
        kind = _inner(kind, step)
    if words := _fields(kind) if _UNKNOWN in fault else _words(kind):
        wrong = re.sub(_REFUSED, "", fault) if steps or _UNKNOWN in fault else ""
        taken = f"{', '.join(words[:-1])}{' or ' if words[1:] else ''}{words[-1]}"
        return f"{name or 'it'} takes {taken}" + (f", not {wrong}" if wrong else "")
    fault = fault.replace(" | null`", "`")
    for code, word in _WORDS.items():
        fault = fault.replace(code, word)
    return f"{name}: {fault[:1].lower()}{fault[1:]}".removeprefix(": ")


def innermost(key: str, value: Any, kind: Any) -> tuple[str, Any, Any]:
    """Where a value has a fault: place, value and kind of the table or list in it that is none of its kind,
    as deep as there is one.
    """
    for place, one, inner in _entries(key, value, kind):
        if not _holds_others(inner):
            continue
        try:
            msgspec.convert(one, inner)
        except msgspec.ValidationError:
            return innermost(place, one, inner)
    return key, value, kind


def _entries(key: str, value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(kind) is dict and isinstance(value, dict):
        yield from ((f"{key}.{name}", one, get_args(kind)[1]) for name, one in value.items())
    if get_origin(kind) is list and isinstance(value, list):
        yield from ((f"{key}[{number}]", one, get_args(kind)[0]) for number, one in enumerate(value))


def _holds_others(kind: Any) -> bool:
    is_table = isinstance(kind, type) and issubclass(kind, Struct)
    return is_table or get_origin(kind) in {dict, list}


def _inner(kind: Any, field: str) -> Any:
    """The kind of what is in a value of one: of a field, or without one of its items."""
    if get_origin(kind) in {Union, UnionType}:
        found = (_inner(one, field) for one in get_args(kind))
        return next((one for one in found if one is not None), None)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {one.encode_name: one.type for one in msgspec.structs.fields(kind)}.get(field)
    return _inner(get_args(kind)[0], field) if get_origin(kind) is Annotated else [None, *get_args(kind)][-1]


def _words(kind: Any) -> list[str]:
    """The words that a kind takes; none where it takes others too."""
    if get_origin(kind) is Annotated:
        return _words(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return [str(one) or '""' for one in get_args(kind)]
    if get_origin(kind) in {Union, UnionType}:
        found = [_words(one) for one in get_args(kind) if one is not NoneType]
        return [word for words in found for word in words] if all(found) else []
    return []


def _fields(kind: Any) -> list[str]:
    """The names that a table takes."""
    kinds = get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)
    tables = [one for one in kinds if isinstance(one, type) and issubclass(one, Struct)]
    return [name for one in tables for name in one.__struct_encode_fields__]
