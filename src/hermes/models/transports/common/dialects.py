"""Tool definitions in the JSON Schema that a model's server takes: pure functions over definitions in the
OpenAI function form.

A dialect drops what the server refuses, so that it accepts no less than before; the tool itself still checks
its arguments.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hermes.models.transports.common.schemas import (
    Definition,
    Schema,
    branches,
    inlined,
    one_choice,
    rooted,
    types_of,
    walk,
    with_schema,
    without_keys,
    without_patterns,
)
from hermes.types.profile import Dialect
from hermes.types.request import LeftOut

_KNOWN_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
_TYPES = ("string", "number", "boolean", "object", "array", "null")
_EVERY = tuple({"type": name} for name in _TYPES)
_WORDS = ("title", "description", "default", "$defs", "definitions")
_SHAPES = frozenset(
    {
        "type",
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
    }
)
_LLAMA_CPP_DROPS = frozenset(
    {
        "pattern",
        "not",
        "if",
        "then",
        "else",
        "propertyNames",
        "patternProperties",
        "dependentSchemas",
        "contains",
        "$schema",
        "$id",
    }
)
_GEMINI_FORMATS: Mapping[str, tuple[str, ...]] = {
    "string": ("enum", "date-time"),
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}
_GEMINI_FIELDS = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
        "properties", "required",
        "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum",
    }
)  # fmt: skip
_MOONSHOT_DROPS = frozenset(
    {"if", "then", "else", "not", "allOf", "dependentSchemas", "dependentRequired", "$schema", "$id"}
)
_STRICT_DROPS = frozenset(
    {
        "default",
        "examples",
        "minLength",
        "maxLength",
        "uniqueItems",
        "contains",
        "propertyNames",
        "title",
        "$schema",
    }
)
_STRICT_REFUSES = frozenset(
    {
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "patternProperties",
        "dependentSchemas",
        "dependentRequired",
        "prefixItems",
    }
)


def adapt(
    tools: Sequence[Definition], dialect: Dialect, without: Collection[LeftOut] = ()
) -> list[dict[str, Any]]:
    """The definitions as the server takes them; those it takes as they are stay as they are."""
    plain = "schema_patterns" in without
    change = _CHANGES.get("" if dialect == "strict" and "strict" in without else dialect, dict)
    return [
        change(with_schema(tool, lambda schema: rooted(without_patterns(schema) if plain else schema)))
        for tool in tools
    ]


def named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer as OpenAI's wires name one: strict where that says the same."""
    strict = _strictable(schema)
    return {
        "name": "answer",
        "schema": walk(schema, _strict_schema) if strict else dict(schema),
        "strict": strict,
    }


def closed_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the strict form; None where that says something else."""
    return dict(walk(schema, _strict_schema)) if _strictable(schema) else None


def _strict(tool: dict[str, Any]) -> dict[str, Any]:
    """Marked strict where its schema says the same in the strict form; else as it was."""
    function = tool["function"]
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or not _strictable(schema):
        return tool
    return {**tool, "function": {**function, "parameters": walk(schema, _strict_schema), "strict": True}}


def _strict_schema(schema: Schema) -> Schema:
    new = without_keys(schema, _STRICT_DROPS)
    if "oneOf" in new:
        new["anyOf"] = new.pop("oneOf")
    if new.get("type") == "object":
        new["additionalProperties"] = False
    return new


def _strictable(schema: Any) -> bool:
    """Whether every object has only required properties, and nothing stands there that the strict form cannot
    say.
    """
    found: list[bool] = []

    def look(inner: Schema) -> Schema:
        found.append(_sayable(inner))
        return inner

    walk(schema, look)
    return all(found)


def _sayable(schema: Schema) -> bool:
    if _STRICT_REFUSES & schema.keys() or schema.get("additionalProperties", False) is not False:
        return False
    if {"anyOf", "oneOf"} <= schema.keys() or not {
        "type",
        "anyOf",
        "oneOf",
        "$ref",
        "enum",
        "const",
    } & schema.keys():
        return False
    types = types_of(schema)
    if "object" in types and len(types) > 1:
        return False
    if types == ["array"] and not isinstance(schema.get("items"), Mapping):
        return False
    return types != ["object"] or (
        "properties" in schema and set(schema["properties"]) == set(schema.get("required", ()))
    )


def _llama_cpp(schema: Schema) -> Schema:
    """What the converter to grammars compiles: no regular expressions, only the formats it knows, nothing
    without a type.
    """
    new = one_choice(without_keys(schema, _LLAMA_CPP_DROPS))
    if new.get("format") not in _KNOWN_FORMATS:
        new.pop("format", None)
    return (
        new if _SHAPES & new.keys() else {name: new[name] for name in ("$defs", "definitions") if name in new}
    )


def _moonshot(schema: Schema) -> Schema:
    """Each schema has a type, but not beside its choices; a reference stands alone."""
    if "$ref" in schema:
        return {name: schema[name] for name in ("$ref", "$defs", "definitions") if name in schema}
    new = one_choice(without_keys(schema, _MOONSHOT_DROPS))
    types = types_of(new)
    said = {name: new[name] for name in _WORDS if name in new}
    rest = without_keys(new, {"type", *_WORDS})
    if "anyOf" not in new:
        return (
            {**said, "type": types[0], **rest}
            if len(types) == 1
            else {**said, "anyOf": branches(types or _TYPES, rest)}
        )
    choices = rest.pop("anyOf")
    return {**said, "anyOf": [_shared(choice, types, rest) for choice in choices]}


def _shared(choice: Any, types: list[str], parent: Schema) -> Any:
    """A choice with what stood beside all choices."""
    if not isinstance(choice, Mapping) or "$ref" in choice:
        return choice
    if types and all(
        each in _EVERY for each in choice.get("anyOf", [None])
    ):  # a choice that said nothing of its type
        choice = {
            **without_keys(choice, {"anyOf"}),
            **({"type": types[0]} if len(types) == 1 else {"anyOf": branches(types, {})}),
        }
    if choice.get("type") != "object":
        return choice
    properties = {**parent.get("properties", {}), **choice.get("properties", {})}
    required = [*dict.fromkeys((*parent.get("required", ()), *choice.get("required", ())))]
    return {
        **choice,
        **({"properties": properties} if properties else {}),
        **({"required": required} if required else {}),
    }


def _gemini(schema: Schema) -> Schema:
    """One schema, its subschemas being done: the subset of OpenAPI that the server parses; null is said by
    `nullable`.
    """
    new = one_choice(schema)
    if "anyOf" in new:
        new = _some_choice(new)
    if len(new.get("allOf", ())) == 1:
        new = {**new["allOf"][0], **new}
    types = types_of(new)
    if "null" in types:
        new, types = {**new, "nullable": True}, [name for name in types if name != "null"]
    if len(types) > 1 and "anyOf" not in new:
        new["anyOf"] = branches(types, without_keys(new, {"type", "nullable", *_WORDS}))
    new.pop("type", None)
    if len(types) == 1:
        new = {**new, "type": types[0], **_bounds(new)}
    return _gemini_fields(new)


def _gemini_fields(schema: Schema) -> Schema:
    new = {name: value for name, value in schema.items() if name in _GEMINI_FIELDS}
    kind = str(new.get("type", ""))
    words = [
        value
        for value in new.pop("enum", [schema["const"]] if "const" in schema else [])
        if value is not None
    ]
    if words and kind == "string" and all(isinstance(word, str) and word for word in words):
        new["enum"] = words
    if new.get("format") not in _GEMINI_FORMATS.get(kind, ()):
        new.pop("format", None)
    if "required" in new:
        new["required"] = [name for name in new["required"] if name in new.get("properties", {})]
    if "properties" in new:
        new["properties"] = {
            name: value if isinstance(value, Mapping) else {} for name, value in new["properties"].items()
        }
    if kind == "array" and not isinstance(new.get("items"), Mapping):
        new["items"] = {}
    return new


def _some_choice(schema: Schema) -> Schema:
    """Choices without null; one that is left alone is no choice."""
    choices = [choice for choice in schema["anyOf"] if isinstance(choice, Mapping)]
    left = [
        choice
        for choice in choices
        if choice.get("type") != "null"
        and not (choice.keys() <= {"nullable", "description", "title"} and choice.get("nullable") is True)
    ]
    null = {"nullable": True} if len(left) < len(choices) else {}
    if len(left) == 1:
        return {**left[0], **without_keys(schema, {"anyOf"}), **null}
    if not left:
        return {**without_keys(schema, {"anyOf"}), **null}
    return {**schema, "anyOf": left, **null}


def _bounds(schema: Schema) -> Schema:
    """Exclusive bounds as inclusive ones, which accept one value more."""
    pairs = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
    return {
        name: schema[other]
        for name, other in pairs
        if name not in schema and isinstance(schema.get(other), int | float)
    }


def _each(change: Callable[[Schema], Schema]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A change of every subschema as a change of a definition; the root stays an object."""
    return lambda tool: with_schema(tool, lambda schema: rooted(walk(schema, change)))


_CHANGES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "strict": _strict,
    "llama_cpp": _each(_llama_cpp),
    "moonshot": _each(_moonshot),
    "gemini": lambda tool: with_schema(tool, lambda schema: dict(walk(inlined(schema, schema), _gemini))),
}
