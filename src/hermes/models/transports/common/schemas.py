"""JSON Schemas as trees: walking, inlining, and what every dialect needs of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
Definition = Mapping[str, Any]
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLES = frozenset(
    {
        "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
        "unevaluatedItems", "unevaluatedProperties", "additionalItems",
    }
)  # fmt: skip
_PATTERNS = frozenset({"pattern", "format"})
_NEGATIONS = frozenset({"not", "if", "then", "else"})
_NO_ROOT = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else"})
_KIN = {"integer": "number"}
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SPEAK: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": _NUMBER,
    "integer": _NUMBER,
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
}


def with_schema(tool: Definition, change: Callable[[Schema], Schema]) -> dict[str, Any]:
    """The definition with its schema changed; one without a schema as it is."""
    function = tool["function"]
    schema = function.get("parameters")
    if not isinstance(schema, Mapping):
        return dict(tool)
    return {**tool, "function": {**function, "parameters": change(dict(schema))}}


def walk(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with `change` made to each of its subschemas, the innermost first."""
    if not isinstance(schema, Mapping):
        return schema
    new: Schema = {}
    for name, value in schema.items():
        if name in _MAPS and isinstance(value, Mapping):
            new[name] = {key: walk(inner, change) for key, inner in value.items()}
        elif name in _LISTS or (name == "items" and isinstance(value, list)):
            new[name] = [walk(inner, change) for inner in value]
        else:
            new[name] = walk(value, change) if name in _SINGLES else value
    return change(new)


def without_keys(schema: Mapping[str, Any], names: Collection[str]) -> Schema:
    """The schema without these keywords."""
    return {name: value for name, value in schema.items() if name not in names}


def without_patterns(schema: Schema) -> Schema:
    """Without regular expressions and formats; what would say less than nothing then is dropped too."""
    return dict(walk(schema, lambda inner: one_choice(without_keys(inner, _PATTERNS | _NEGATIONS))))


def rooted(schema: Schema) -> Schema:
    """A schema whose root is a plain object: choices at the root become optional properties."""
    if schema.get("type") == "object" and "properties" in schema and not _NO_ROOT & schema.keys():
        return schema
    if "$ref" in schema:
        schema = {**_target(schema["$ref"], schema), **without_keys(schema, {"$ref"})}
    branches = [
        branch
        for name in ("anyOf", "oneOf")
        for branch in schema.get(name, ())
        if isinstance(branch, Mapping)
    ]
    both = [branch for branch in schema.get("allOf", ()) if isinstance(branch, Mapping)]
    required = {name: None for part in (*both, schema) for name in part.get("required", ())}
    new = {
        "type": "object",
        "properties": _united((schema, *both, *branches)),
        **({"required": list(required)} if required else {}),
    }
    if not branches and not both and "additionalProperties" in schema:
        new["additionalProperties"] = schema["additionalProperties"]
    return {
        **new,
        **without_keys(schema, _NO_ROOT | {"type", "properties", "required", "additionalProperties"}),
    }


def _united(parts: Sequence[Mapping[str, Any]]) -> Schema:
    """The properties of all parts; one that the parts describe in two ways may be anything."""
    properties: Schema = {}
    for part in parts:
        for name, value in part.get("properties", {}).items():
            properties[name] = value if properties.get(name, value) == value else {}
    return properties


def _target(reference: str, root: Mapping[str, Any]) -> Schema:
    """What a reference inside the schema points at; anything, when it points nowhere."""
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return dict(found) if reference.startswith("#") and isinstance(found, Mapping) else {}


def inlined(schema: Any, root: Schema, inside: tuple[str, ...] = ()) -> Any:
    """The schema with its references replaced by what they point at; one that points back at where it stands
    may be anything.
    """

    def follow(inner: Schema) -> Schema:
        reference = inner.get("$ref")
        if not isinstance(reference, str):
            return without_keys(inner, {"$defs", "definitions"})
        if reference in inside:
            return without_keys(inner, {"$ref"})
        target = inlined(_target(reference, root), root, (*inside, reference))
        return {**target, **without_keys(inner, {"$ref"})}

    return walk(schema, follow)


def one_choice(schema: Schema) -> Schema:
    """`oneOf` as `anyOf`; where both stand, the second is dropped."""
    if "oneOf" not in schema:
        return dict(schema)
    return {"anyOf": schema["oneOf"], **without_keys(schema, {"oneOf"})}


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """The types that a schema names, or that its keywords and values speak of."""
    said = schema.get("type")
    if isinstance(said, str):
        return [said]
    if isinstance(said, list):
        return said
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return [*dict.fromkeys(_type_of(value) for value in values)]
    if {"properties", "required"} & schema.keys() and "anyOf" not in schema:
        return ["object"]
    return ["array"] if {"items", "prefixItems"} & schema.keys() else []


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = {str: "string", int: "number", float: "number", dict: "object", list: "array"}
    return kinds.get(type(value), "null")


def branches(types: Sequence[str], rest: Mapping[str, Any]) -> list[Schema]:
    """One schema for each type, with the keywords that speak of it and the values that are of it."""
    found = []
    for name in types:
        branch = {"type": name, **{key: rest[key] for key in _SPEAK.get(name, ()) if key in rest}}
        values = rest.get("enum", [rest["const"]] if "const" in rest else None)
        if values is not None:
            branch["enum"] = [value for value in values if _type_of(value) == _KIN.get(name, name)]
        if values is None or branch["enum"]:
            found.append(branch)
    return found or [{"type": name} for name in types]
