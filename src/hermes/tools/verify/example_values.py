"""Values that a JSON Schema allows, the plain and the odd ones, and values that it does not."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_TEXTS: Final = ("word", "two words", "", "0", "é ✓ 漢", "a\nb\t'\"`$(x)", "../a", "-x", "{", "x" * 3000)
_INTEGERS: Final = (1, 0, 2, -1, 2**31, -(2**53))
_NUMBERS: Final = (0.5, 0, -1.5, 1e308)
_ANY: Final = ("word", 1, None, {"a": 1}, ["a"])
_OF_OTHER_TYPES: Final[Mapping[str, tuple[Any, ...]]] = {
    "string": ({"not": "a text"}, ["not a text"]),
    "integer": ("seven", 1.5, {"not": 1}),
    "number": ("seven", {"not": 1}),
    "boolean": ("perhaps", 7, {"not": True}),
    "array": ("no list", 7, {"not": "a list"}),
    "object": ("no object", 7, ["no object"]),
    "null": ("something", 7),
}
"""None of them is one that could be meant as the type, such as "7" for a number."""


def allowed_values(schema: Mapping[str, Any]) -> list[Any]:
    """Values that a schema is meant to allow, the plainest first; some may not be allowed all the same."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return [value for one in schema[choice] for value in allowed_values(one)[:3]]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    found = [value for kind in kinds for value in _of_type(kind, schema)] if kinds else list(_ANY)
    own = [schema["default"]] if "default" in schema else []
    return [*schema.get("examples", ()), *own, *found]


def refused_values(schema: Mapping[str, Any]) -> list[Any]:
    """Values that a schema is meant to refuse; some may be allowed all the same."""
    kinds = schema.get("type", "")
    wrong = list(_OF_OTHER_TYPES.get(kinds, ())) if isinstance(kinds, str) else []
    if "enum" in schema:
        wrong.append("none of these values")
    if "minimum" in schema:
        wrong.append(schema["minimum"] - 1)
    if "maximum" in schema:
        wrong.append(schema["maximum"] + 1)
    if "maxLength" in schema:
        wrong.append("x" * (schema["maxLength"] + 1))
    if schema.get("minLength"):
        wrong.append("x" * (schema["minLength"] - 1))
    return wrong


def _of_type(kind: str, schema: Mapping[str, Any]) -> Sequence[Any]:
    match kind:
        case "string":
            return _texts(schema)
        case "integer":
            return [*_bounds(schema), *_INTEGERS]
        case "number":
            return [*_bounds(schema), *_NUMBERS]
        case "boolean":
            return [False, True]
        case "array":
            return _lists(schema)
        case "object":
            return list(itertools.islice(objects(schema), 4))
        case _:
            return [None]


def _texts(schema: Mapping[str, Any]) -> list[str]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    edges = ["x" * shortest] if shortest else []
    edges += ["x" * longest] if longest is not None and longest < 10_000 else []
    return [*edges, *_TEXTS]


def _bounds(schema: Mapping[str, Any]) -> list[float]:
    return [schema[name] for name in ("minimum", "maximum") if name in schema]


def _lists(schema: Mapping[str, Any]) -> list[list[Any]]:
    items = schema.get("items")
    each = allowed_values(items) if isinstance(items, Mapping) else list(_ANY)
    least = schema.get("minItems", 0)
    return [(each * (least + 1))[: max(least, 1)], (each * (least + 1))[:least], each[: max(least, 3)]]


def objects(schema: Mapping[str, Any], first: int = 0) -> Iterator[dict[str, Any]]:
    """Objects without an end: the required properties alone, then all, then some, each time with the next of
    their values, from number `first` on.
    """
    parts: Mapping[str, Any] = schema.get("properties", {})
    values = {name: allowed_values(part if isinstance(part, Mapping) else {}) for name, part in parts.items()}
    required = set(schema.get("required", ()))
    for turn in itertools.count():
        chosen = [name for at, name in enumerate(values) if name in required or _is_in(turn, at)]
        yield {name: values[name][(first + turn) % len(values[name])] for name in chosen if values[name]}


def _is_in(turn: int, at: int) -> bool:
    """Whether the optional property number `at` is in object number `turn`: none, all, then every other."""
    return turn > 0 and (turn == 1 or (turn + at) % 2 == 0)
