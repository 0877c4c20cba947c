"""What a model is told of a function's parameters, and how what it gives becomes their values and back."""

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any, Final

import msgspec

from hermes.lib.lazy import import_object

_PLAIN: Final = re.compile(r"^[ \t]*\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s+(.+)$", re.MULTILINE)
_SECTIONS: Final = re.compile(r"\n\s*(?:\w+:\s*\n|\w+\n\s*-{3,}|:\w+ )")


def docstring_words(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraph of a docstring, and what it says of each parameter: in the style of Google, NumPy
    or Sphinx, or in plain lines of the form `name: words`.
    """
    told = dict(_PLAIN.findall(doc))
    if _SECTIONS.search(doc):
        parsed = import_object("docstring_parser:parse")
        try:
            found = parsed(doc)
        except ValueError:  # its ParseError: sections that are none
            pass
        else:
            doc = found.description or ""
            told |= {one.arg_name.lstrip("*"): one.description for one in found.params if one.description}
    words = {name: " ".join(text.split()) for name, text in told.items()}
    return " ".join(doc.split("\n\n")[0].split()), words


def parameters_schema(
    name: str, parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any], docs: Mapping[str, str]
) -> dict[str, Any]:
    """The JSON schema of a function's parameters; TypeError for one whose type JSON cannot carry."""
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for one in parameters:
        shape, parts = _shape(name, one, hints[one.name])
        if two := [key for key, part in parts.items() if definitions.get(key, part) != part]:
            raise TypeError(
                f"@tool {name}: two types are called {two[0]}; a model could not tell them apart."
            )
        definitions |= parts
        words = _annotated_words(hints[one.name]) or docs.get(one.name)
        properties[one.name] = {
            **shape,
            **({"description": words} if words else {}),
            **({"default": one.default} if _is_json(one.default) else {}),
        }
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "$defs": definitions} if definitions else schema


def type_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, whole in itself; TypeError for one that JSON cannot carry."""
    (shape,), parts = msgspec.json.schema_components(
        [kind], schema_hook=_schema, ref_template="#/$defs/{name}"
    )
    found: dict[str, Any] = {}
    shape = _hoisted(shape, found)
    for key, part in parts.items():
        found[key] = _hoisted(part, found)
    name = shape.get("$ref", "").removeprefix("#/$defs/")
    if name in found and not any(f"#/$defs/{name}" in str(part) for part in found.values()):
        shape = found.pop(name)
    return {**shape, "$defs": found} if found else shape


def converted(value: Any, hint: Any) -> Any:
    """The value of an annotated type that JSON stands for; msgspec.ValidationError says what does not fit."""
    return msgspec.convert(value, hint, dec_hook=_read, str_keys=True)


def plain_value(value: Any) -> Any:
    """What JSON can say of a value; TypeError where it can say nothing."""
    return msgspec.to_builtins(value, enc_hook=_written)


def _shape(name: str, one: inspect.Parameter, hint: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        (shape,), parts = msgspec.json.schema_components(
            [hint], schema_hook=_schema, ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        raise TypeError(
            f"@tool {name}: {one.name} has a type that JSON cannot carry ({one.annotation});"
            " use plain types, dataclasses, pydantic models or msgspec.Struct."
        ) from error
    found: dict[str, Any] = {}
    shape = _hoisted(shape, found)
    for key, part in parts.items():
        found[key] = _hoisted(part, found)
    return shape, found


def _hoisted(node: Any, definitions: dict[str, Any]) -> Any:
    """A schema without the definitions inside it, which no reference from the top finds: they move into
    `definitions`.
    """
    if isinstance(node, list):
        return [_hoisted(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    for key, part in node.get("$defs", {}).items():
        definitions[key] = _hoisted(part, definitions)
    return {key: _hoisted(one, definitions) for key, one in node.items() if key != "$defs"}


def _annotated_words(hint: Any) -> str:
    """What `Annotated[type, words]` says: a text, or what a pydantic `Field` or a `Doc` bears."""
    for one in getattr(hint, "__metadata__", ()):
        words = one if isinstance(one, str) else getattr(one, "description", None)
        if isinstance(words := words or getattr(one, "documentation", None), str):
            return words
    return ""


def _is_json(default: Any) -> bool:
    """Whether a default can stand in a schema; others are filled in by the function alone."""
    if isinstance(default, float):
        return math.isfinite(default)
    return default is None or (isinstance(default, str | int | bool) and not isinstance(default, Enum))


def _schema(kind: Any) -> dict[str, Any]:
    """The schema of a type that msgspec does not know."""
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    if hasattr(kind, "model_json_schema"):  # a pydantic model: what is there needs no import
        schema: dict[str, Any] = kind.model_json_schema(ref_template="#/$defs/{model}")
        return schema
    raise NotImplementedError


def _read(kind: Any, value: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    raise NotImplementedError


def _written(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"JSON cannot carry the type {type(value).__name__}")
