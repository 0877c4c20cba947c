"""Arguments to try a tool with, made from its schema: such as it must take, and such as must be refused."""

import itertools
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from hermes.lib.schema_patterns import schema_checker
from hermes.tools.verify.example_values import objects, refused_values

_TAKEN: Final = 10
_REFUSED: Final = 16
_LOOKED_AT: Final = 60
UNKNOWN: Final = "not_in_the_schema"


class ExampleArguments(Struct, frozen=True):
    """Arguments that a schema allows, and such as it does not; the same each time."""

    allowed: tuple[dict[str, Any], ...]
    refused: tuple[dict[str, Any], ...]


def example_arguments(name: str, parameters: Mapping[str, Any]) -> ExampleArguments:
    """The arguments to try the tool `name` with; its name decides which of the odd values meet."""
    is_allowed = schema_checker()(parameters).is_valid
    first = itertools.chain(objects(parameters), objects(parameters, zlib.crc32(name.encode()) % 97))
    plain = itertools.islice(first, _LOOKED_AT)
    allowed = _distinct(one for one in plain if is_allowed(one))[:_TAKEN]
    with_unknown = [{**one, UNKNOWN: 1} for one in allowed[:1]]
    refused = _distinct(one for one in _wrong(parameters, allowed) if not is_allowed(one))[:_REFUSED]
    return ExampleArguments(
        (*allowed, *(one for one in with_unknown if is_allowed(one))),
        (*refused, *(one for one in with_unknown if not is_allowed(one))),
    )


def _wrong(parameters: Mapping[str, Any], allowed: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Allowed arguments with one thing wrong: a required one missing, or a value that does not fit."""
    whole = max(allowed, key=len, default={})
    for name in parameters.get("required", ()):
        yield {key: value for key, value in whole.items() if key != name}
    for name, part in parameters.get("properties", {}).items():
        if isinstance(part, Mapping):
            yield from ({**whole, name: value} for value in refused_values(part))


def _distinct(found: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({msgspec.json.encode(one): one for one in found}.values())
