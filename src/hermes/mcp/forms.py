"""A form that a server has the user fill in: a question for each field, whose answer is looked at first."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from hermes.lib.lazy import import_object
from hermes.lib.text import clip

DECLINE: Final = "No, tell it nothing"
TRIES: Final = 3
"""How often a field is asked for that was not answered as it should be."""
_CHOICES: Final = 3
_LEFT_OUT: Final = object()

Ask = Callable[[str, Sequence[str]], Awaitable[str | None]]
"""Asks a person, with options; None where no person answered."""


async def filled(asked: str, schema: Mapping[str, Any], ask: Ask) -> dict[str, Any] | None:
    """The answers to a form, by the names of its fields; None where a person declines, or nobody answers."""
    fields: Mapping[str, Any] = schema.get("properties") or {}
    content: dict[str, Any] = {}
    for number, (name, field) in enumerate(fields.items(), 1):
        count = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
        value = await _answered(f"{asked}{count} {_label(name, field)}", field, ask)
        if value is None or (value is _LEFT_OUT and name in (schema.get("required") or ())):
            return None
        if value is not _LEFT_OUT:
            content[name] = value
    return content


async def _answered(asked: str, field: Mapping[str, Any], ask: Ask) -> Any:
    """The value of a field; None for a no."""
    choices, wrong = _choices(field), ""
    options = [title for title, _ in choices] if field.get("type") != "array" else []
    left = f"Leave it at {plain_words(json.dumps(field['default']))}" if "default" in field else ""
    options = [left, *options] if left else options
    for _ in range(TRIES):
        said = await ask(f"{wrong}{asked}", [*options[:_CHOICES], DECLINE])
        if said is None or said == DECLINE:
            return None
        value = _value("" if said == left else said, field, choices)
        if value is _LEFT_OUT or not (fault := _fault(value, field)):
            return value
        wrong = f"Not {fault}. "
    return None


def _value(said: str, field: Mapping[str, Any], choices: Sequence[tuple[str, Any]]) -> Any:
    """What was said, in the type that the form wants, as far as it is of that type."""
    if not said:
        return field.get("default", _LEFT_OUT)
    titles = {title.lower(): value for title, value in choices}
    match field.get("type"):
        case "integer" | "number":
            return _number(said, field["type"])
        case "array":
            return [titles.get(one.strip().lower(), one.strip()) for one in said.split(",") if one.strip()]
        case _:
            return titles.get(said.lower(), said)


def _number(said: str, kind: str) -> int | float | str:
    try:
        return int(said) if kind == "integer" else float(said)
    except ValueError:
        return said


def _fault(value: Any, field: Mapping[str, Any]) -> str:
    """What is wrong with a value; "" where nothing is."""
    library = import_object("jsonschema:Draft202012Validator")
    found = next(iter(library(dict(field), format_checker=library.FORMAT_CHECKER).iter_errors(value)), None)
    return clip(plain_words(found.message), 200) if found else ""


def _choices(field: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The values that a field may have, each with what it is called."""
    inner = field.get("items") if field.get("type") == "array" else field
    inner = inner if isinstance(inner, Mapping) else {}
    if inner.get("type") == "boolean":
        return [("Yes", True), ("No", False)]
    titled = [one for one in (inner.get("oneOf") or inner.get("anyOf") or ()) if isinstance(one, Mapping)]
    if titled:
        return [(plain_words(one.get("title") or one.get("const")), one.get("const")) for one in titled]
    values, names = list(inner.get("enum") or ()), list(inner.get("enumNames") or ())
    return [(plain_words(names[at] if at < len(names) else one), one) for at, one in enumerate(values)]


def _label(name: str, field: Mapping[str, Any]) -> str:
    """What is asked for, on one line."""
    about = clip(plain_words(field.get("description") or ""), 300)
    choices = [title for title, _ in _choices(field)]
    several = field.get("type") == "array"
    fits = len(choices) + ("default" in field) <= _CHOICES and not several
    listed = f" [{', '.join(choices)}]" if choices and not fits else ""
    label = clip(plain_words(field.get("title") or name), 100)
    more = ", several with commas" if several else ""
    return f"{label}{f', {about}' if about else ''}{clip(listed, 400)}{more}"


def plain_words(value: object) -> str:
    """Words of a stranger, without lines of their own."""
    return " ".join(str(value).split())
