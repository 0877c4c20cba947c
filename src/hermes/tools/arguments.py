"""A call's arguments against the tool's JSON Schema: harmless coercions, else a sentence for the model."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hermes.lib.codec import copied
from hermes.lib.lazy import import_object

Checker = Callable[[Any], bool]
_PLAIN = frozenset(
    {
        "type",
        "properties",
        "required",
        "enum",
        "items",
        "minimum",
        "maximum",
        "description",
        "default",
        "title",
        "name",
        "examples",
    }
)
_TYPES: Mapping[str, Checker] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in {int, float},
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


class ArgumentError(Exception):
    """The arguments do not fit; the message is for the model."""


class Arguments(Struct, frozen=True):
    """The check for one tool, compiled once: `quick` says yes to what plainly fits, None when the schema is
    not plain.
    """

    schema: Mapping[str, Any]
    quick: Checker | None

    def prepare(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to run with, a copy; ArgumentError says what is wrong and what is allowed."""
        arguments: dict[str, Any] = copied(dict(given))
        if self.quick is not None and self.quick(arguments):
            return arguments
        arguments = _coerce_object(arguments, self.schema)
        if self.quick is None or not self.quick(arguments):
            validator = import_object("hermes.lib.schema_patterns:schema_checker")()(self.schema)
            faults = [_sentence(error) for error in validator.iter_errors(arguments)]
            if faults:
                raise ArgumentError(f"{'; '.join(faults[:3])}. {_allowed(self.schema)}")
        return arguments


def compiled(schema: Mapping[str, Any]) -> Arguments:
    """The check for a tool's schema."""
    parameters = schema.get("parameters") or {"type": "object", "properties": {}}
    return Arguments(schema=parameters, quick=_quick(parameters))


def _quick(schema: Mapping[str, Any]) -> Checker | None:
    """A fast yes for plain schemas; a no from it means: look closer."""
    if not _PLAIN.issuperset(schema) or isinstance(schema.get("type"), list):
        return None
    kind = _TYPES.get(schema["type"]) if "type" in schema else None
    checks: list[Checker] = [*([kind] if kind else ()), *_limit_checks(schema)]
    if "properties" in schema or "required" in schema:
        inner = {name: _quick(part) for name, part in schema.get("properties", {}).items()}
        if None in inner.values():
            return None
        checks.append(
            _object_check(
                {name: check for name, check in inner.items() if check}, tuple(schema.get("required", ()))
            )
        )
    if "items" in schema:
        each = _quick(schema["items"])
        if each is None:
            return None
        checks.append(lambda value: all(each(item) for item in value))
    if len(checks) == 1:
        return checks[0]

    def every(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  # a plain loop: this runs before every call
            if not check(value):
                return False
        return True

    return every


def _limit_checks(schema: Mapping[str, Any]) -> list[Checker]:
    checks: list[Checker] = []
    if "enum" in schema:
        allowed = tuple(schema["enum"])
        checks.append(lambda value: value in allowed)
    if "minimum" in schema:
        low = schema["minimum"]
        checks.append(lambda value: value >= low)
    if "maximum" in schema:
        high = schema["maximum"]
        checks.append(lambda value: value <= high)
    return checks


def _object_check(inner: Mapping[str, Checker], required: tuple[str, ...]) -> Checker:
    def check(value: Any) -> bool:
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            part = inner.get(name)
            if part is not None and not part(item):
                return False
        return True

    return check


def _coerce(value: Any, schema: Mapping[str, Any]) -> Any:
    """`value` in the type the schema wants, where that changes nothing of what was meant."""
    wanted = schema.get("type")
    kinds = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(value, str) and "string" not in kinds:
        value = _from_text(value, kinds)
    elif type(value) in {int, float} and kinds == ["string"]:
        value = json.dumps(value)
    elif isinstance(value, float) and "integer" in kinds and value.is_integer():
        value = int(value)
    if isinstance(value, dict) and "object" in kinds:
        return _coerce_object(value, schema)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_coerce(item, schema["items"]) for item in value]
    return value


def _coerce_object(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    parts, required = schema.get("properties", {}), schema.get("required", ())
    kept = {
        name: item
        for name, item in value.items()
        if not (item is None and name in parts and name not in required)
    }
    return {name: _coerce(item, parts[name]) if name in parts else item for name, item in kept.items()}


def _from_text(text: str, kinds: list[Any]) -> Any:
    """What a text says in JSON, if that is of a wanted type; else the text."""
    words = {"true": True, "false": False, "yes": True, "no": False} if "boolean" in kinds else {}
    if text.strip().lower() in words:
        return words[text.strip().lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, float) and not math.isfinite(value):
        return text
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        return int(value)
    return value if any(_TYPES[kind](value) for kind in kinds if kind in _TYPES) else text


def _sentence(error: Any) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    return f"{where}: {error.message}" if where else str(error.message)


def _allowed(schema: Mapping[str, Any]) -> str:
    required = set(schema.get("required", ()))
    parts = [
        f"{name}{'*' if name in required else ''} ({_kind(part)})"
        for name, part in schema.get("properties", {}).items()
    ]
    return f"Parameters (* required): {', '.join(parts) or 'none'}"


def _kind(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return "one of " + ", ".join(json.dumps(item, ensure_ascii=False) for item in part["enum"])
    kind = part.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
