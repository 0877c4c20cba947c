"""Tool definitions in the JSON Schema that a model's server takes: pure functions over definitions in the OpenAI function form.

A dialect drops what the server refuses, so that it accepts no less than before; the tool itself still checks its arguments.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hermes.types.profile import Dialect
from hermes.types.request import LeftOut

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
_KNOWN_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
_TYPES = ("string", "number", "boolean", "object", "array", "null")
_EVERY = tuple({"type": name} for name in _TYPES)
_KIN = {"integer": "number"}
_WORDS = ("title", "description", "default", "$defs", "definitions")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SPEAK: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": _NUMBER,
    "integer": _NUMBER,
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
}
_SHAPES = frozenset(
    {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "items", "prefixItems", "additionalProperties"}
)
_LLAMA_CPP_DROPS = frozenset(
    {"pattern", "not", "if", "then", "else", "propertyNames", "patternProperties", "dependentSchemas", "contains", "$schema", "$id"}
)
_GEMINI_FORMATS: Mapping[str, tuple[str, ...]] = {
    "string": ("enum", "date-time"),
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}
_GEMINI_FIELDS = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required",
        "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum",
    }
)  # fmt: skip
_MOONSHOT_DROPS = frozenset({"if", "then", "else", "not", "allOf", "dependentSchemas", "dependentRequired", "$schema", "$id"})
_STRICT_DROPS = frozenset({"default", "examples", "minLength", "maxLength", "uniqueItems", "contains", "propertyNames", "title", "$schema"})
_STRICT_REFUSES = frozenset(
    {"allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas", "dependentRequired", "prefixItems"}
)


def adapt(tools: Sequence[Definition], dialect: Dialect, without: Collection[LeftOut] = ()) -> list[dict[str, Any]]:
    """The definitions as the server takes them; those it takes as they are stay as they are."""
    plain = "schema_patterns" in without
    change = _CHANGES.get("" if dialect == "strict" and "strict" in without else dialect, _as_it_is)
    return [change(_with_schema(tool, lambda schema: _rooted(_without_patterns(schema) if plain else schema))) for tool in tools]


def _as_it_is(tool: dict[str, Any]) -> dict[str, Any]:
    return tool


def _with_schema(tool: Definition, change: Callable[[Schema], Schema]) -> dict[str, Any]:
    function = tool["function"]
    schema = function.get("parameters")
    if not isinstance(schema, Mapping):
        return dict(tool)
    return {**tool, "function": {**function, "parameters": change(dict(schema))}}


def _walk(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with `change` made to each of its subschemas, the innermost first."""
    if not isinstance(schema, Mapping):
        return schema
    new: Schema = {}
    for name, value in schema.items():
        if name in _MAPS and isinstance(value, Mapping):
            new[name] = {key: _walk(inner, change) for key, inner in value.items()}
        elif name in _LISTS or (name == "items" and isinstance(value, list)):
            new[name] = [_walk(inner, change) for inner in value]
        else:
            new[name] = _walk(value, change) if name in _SINGLES else value
    return change(new)


def _without(schema: Mapping[str, Any], names: Collection[str]) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}


def _without_patterns(schema: Schema) -> Schema:
    """Without regular expressions and formats; what would say less than nothing then is dropped too."""
    return dict(_walk(schema, lambda inner: _one_choice(_without(inner, _PATTERNS | _NEGATIONS))))


def _rooted(schema: Schema) -> Schema:
    """A schema whose root is a plain object: choices at the root become optional properties."""
    if schema.get("type") == "object" and "properties" in schema and not _NO_ROOT & schema.keys():
        return schema
    if "$ref" in schema:
        schema = {**_target(schema["$ref"], schema), **_without(schema, {"$ref"})}
    branches = [branch for name in ("anyOf", "oneOf") for branch in schema.get(name, ()) if isinstance(branch, Mapping)]
    both = [branch for branch in schema.get("allOf", ()) if isinstance(branch, Mapping)]
    required = {name: None for part in (*both, schema) for name in part.get("required", ())}
    new = {"type": "object", "properties": _united((schema, *both, *branches)), **({"required": list(required)} if required else {})}
    if not branches and not both and "additionalProperties" in schema:
        new["additionalProperties"] = schema["additionalProperties"]
    return {**new, **_without(schema, _NO_ROOT | {"type", "properties", "required", "additionalProperties"})}


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


def _strict(tool: dict[str, Any]) -> dict[str, Any]:
    """Marked strict where its schema says the same in the strict form; else as it was."""
    function = tool["function"]
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or not _strictable(schema):
        return tool
    return {**tool, "function": {**function, "parameters": _walk(schema, _strict_schema), "strict": True}}


def _strict_schema(schema: Schema) -> Schema:
    new = _without(schema, _STRICT_DROPS)
    if "oneOf" in new:
        new["anyOf"] = new.pop("oneOf")
    if new.get("type") == "object":
        new["additionalProperties"] = False
    return new


def _strictable(schema: Any) -> bool:
    """Whether every object has only required properties, and nothing stands there that the strict form cannot say."""
    found: list[bool] = []

    def look(inner: Schema) -> Schema:
        found.append(_sayable(inner))
        return inner

    _walk(schema, look)
    return all(found)


def _sayable(schema: Schema) -> bool:
    if _STRICT_REFUSES & schema.keys() or schema.get("additionalProperties", False) is not False:
        return False
    if {"anyOf", "oneOf"} <= schema.keys() or not {"type", "anyOf", "oneOf", "$ref", "enum", "const"} & schema.keys():
        return False
    types = _types(schema)
    if "object" in types and len(types) > 1:
        return False
    if types == ["array"] and not isinstance(schema.get("items"), Mapping):
        return False
    return types != ["object"] or ("properties" in schema and set(schema["properties"]) == set(schema.get("required", ())))


def _llama_cpp(schema: Schema) -> Schema:
    """What the converter to grammars compiles: no regular expressions, only the formats it knows, nothing without a type."""
    new = _one_choice(_without(schema, _LLAMA_CPP_DROPS))
    if new.get("format") not in _KNOWN_FORMATS:
        new.pop("format", None)
    return new if _SHAPES & new.keys() else {name: new[name] for name in ("$defs", "definitions") if name in new}


def _moonshot(schema: Schema) -> Schema:
    """Each schema has a type, but not beside its choices; a reference stands alone."""
    if "$ref" in schema:
        return {name: schema[name] for name in ("$ref", "$defs", "definitions") if name in schema}
    new = _one_choice(_without(schema, _MOONSHOT_DROPS))
    types = _types(new)
    said = {name: new[name] for name in _WORDS if name in new}
    rest = _without(new, {"type", *_WORDS})
    if "anyOf" not in new:
        return {**said, "type": types[0], **rest} if len(types) == 1 else {**said, "anyOf": _branches(types or _TYPES, rest)}
    choices = rest.pop("anyOf")
    return {**said, "anyOf": [_shared(choice, types, rest) for choice in choices]}


def _shared(choice: Any, types: list[str], parent: Schema) -> Any:
    """A choice with what stood beside all choices."""
    if not isinstance(choice, Mapping) or "$ref" in choice:
        return choice
    if types and all(each in _EVERY for each in choice.get("anyOf", [None])):  # a choice that said nothing of its type
        choice = {**_without(choice, {"anyOf"}), **({"type": types[0]} if len(types) == 1 else {"anyOf": _branches(types, {})})}
    if choice.get("type") != "object":
        return choice
    properties = {**parent.get("properties", {}), **choice.get("properties", {})}
    required = [*dict.fromkeys((*parent.get("required", ()), *choice.get("required", ())))]
    return {**choice, **({"properties": properties} if properties else {}), **({"required": required} if required else {})}


def _gemini(schema: Schema) -> Schema:
    """One schema, its subschemas being done: the subset of OpenAPI that the server parses; null is said by `nullable`."""
    new = _one_choice(schema)
    if "anyOf" in new:
        new = _some_choice(new)
    if len(new.get("allOf", ())) == 1:
        new = {**new["allOf"][0], **new}
    types = _types(new)
    if "null" in types:
        new, types = {**new, "nullable": True}, [name for name in types if name != "null"]
    if len(types) > 1 and "anyOf" not in new:
        new["anyOf"] = _branches(types, _without(new, {"type", "nullable", *_WORDS}))
    new.pop("type", None)
    if len(types) == 1:
        new = {**new, "type": types[0], **_bounds(new)}
    return _gemini_fields(new)


def _gemini_fields(schema: Schema) -> Schema:
    new = {name: value for name, value in schema.items() if name in _GEMINI_FIELDS}
    kind = str(new.get("type", ""))
    words = [value for value in new.pop("enum", [schema["const"]] if "const" in schema else []) if value is not None]
    if words and kind == "string" and all(isinstance(word, str) and word for word in words):
        new["enum"] = words
    if new.get("format") not in _GEMINI_FORMATS.get(kind, ()):
        new.pop("format", None)
    if "required" in new:
        new["required"] = [name for name in new["required"] if name in new.get("properties", {})]
    if "properties" in new:
        new["properties"] = {name: value if isinstance(value, Mapping) else {} for name, value in new["properties"].items()}
    if kind == "array" and not isinstance(new.get("items"), Mapping):
        new["items"] = {}
    return new


def _some_choice(schema: Schema) -> Schema:
    """Choices without null; one that is left alone is no choice."""
    choices = [choice for choice in schema["anyOf"] if isinstance(choice, Mapping)]
    left = [choice for choice in choices if choice.get("type") != "null" and not _only_null(choice)]
    null = {"nullable": True} if len(left) < len(choices) else {}
    if len(left) == 1:
        return {**left[0], **_without(schema, {"anyOf"}), **null}
    if not left:
        return {**_without(schema, {"anyOf"}), **null}
    return {**schema, "anyOf": left, **null}


def _only_null(choice: Mapping[str, Any]) -> bool:
    return choice.keys() <= {"nullable", "description", "title"} and choice.get("nullable") is True


def _bounds(schema: Schema) -> Schema:
    """Exclusive bounds as inclusive ones, which accept one value more."""
    pairs = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
    return {name: schema[other] for name, other in pairs if name not in schema and isinstance(schema.get(other), int | float)}


def _inlined(schema: Any, root: Schema, inside: tuple[str, ...] = ()) -> Any:
    """The schema with its references replaced by what they point at; one that points back at where it stands may be anything."""

    def follow(inner: Schema) -> Schema:
        reference = inner.get("$ref")
        if not isinstance(reference, str):
            return _without(inner, {"$defs", "definitions"})
        if reference in inside:
            return _without(inner, {"$ref"})
        target = _inlined(_target(reference, root), root, (*inside, reference))
        return {**target, **_without(inner, {"$ref"})}

    return _walk(schema, follow)


def _one_choice(schema: Schema) -> Schema:
    """`oneOf` as `anyOf`; where both stand, the second is dropped."""
    if "oneOf" not in schema:
        return dict(schema)
    return {"anyOf": schema["oneOf"], **_without(schema, {"oneOf"})}


def _types(schema: Mapping[str, Any]) -> list[str]:
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


def _branches(types: Sequence[str], rest: Mapping[str, Any]) -> list[Schema]:
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


def _each(change: Callable[[Schema], Schema]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A change of every subschema as a change of a definition; the root stays an object."""
    return lambda tool: _with_schema(tool, lambda schema: _rooted(_walk(schema, change)))


_CHANGES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "strict": _strict,
    "llama_cpp": _each(_llama_cpp),
    "moonshot": _each(_moonshot),
    "gemini": lambda tool: _with_schema(tool, lambda schema: dict(_walk(_inlined(schema, schema), _gemini))),
}
