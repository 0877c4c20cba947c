"""Tagged unions of structs to and from JSON: a `kind` field tells the class, defaults are left out when
writing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from hermes.lib.text import mend_surrogates

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class Union(Generic[T]):
    """One codec for a closed union of frozen structs, each with a literal `kind`."""

    def __init__(self, *members: type[T]) -> None:
        self.decoders: Mapping[str, Callable[[bytes], T]] = {
            kind_of(member): msgspec.json.Decoder(member).decode for member in members
        }
        """What reads the values of each kind; they raise msgspec.DecodeError."""
        self._fields = {member: _optional(member) for member in members}

    def encode(self, value: T) -> bytes:
        """JSON bytes of `value`; fields at their default are left out, lone surrogates become U+FFFD."""
        tree = {"kind": value.kind} | {  # type: ignore[attr-defined]
            name: found
            for name, default in self._fields[type(value)]
            if (found := getattr(value, name)) != default
        }
        try:
            return _encode(tree)
        except UnicodeEncodeError:
            return _encode(mended(tree))

    def decode(self, data: bytes) -> T:
        """The value that `encode` wrote; msgspec.DecodeError when it is none of this union."""
        return self.decode_kind(tag(data), data)

    def decode_kind(self, kind: str, data: bytes) -> T:
        """The value, where the kind is known already."""
        decode = self.decoders.get(kind)
        if decode is None:
            raise msgspec.DecodeError(f"no such kind: {kind}")
        return decode(data)


class _Tagged(msgspec.Struct):
    kind: str


_tag_decoder = msgspec.json.Decoder(_Tagged)


def tag(data: bytes) -> str:
    """The `kind` of an encoded value; msgspec.DecodeError when it has none."""
    return _tag_decoder.decode(data).kind


def kind_of(member: type[Any]) -> str:
    """The `kind` that a class's instances carry."""
    return next(str(field.default) for field in fields(member) if field.name == "kind")


def _optional(member: type[Any]) -> tuple[tuple[str, object], ...]:
    """Field names with their defaults, `kind` left out."""
    return tuple((field.name, _default(field)) for field in fields(member) if field.name != "kind")


def _default(field: FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def mended(value: Any) -> Any:
    """A JSON-like tree with lone surrogates replaced, structs turned to dicts."""
    return with_texts(value, mend_surrogates)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON-like tree with each text changed, those of keys too, structs turned to dicts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {with_texts(key, change): with_texts(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(item, change) for item in value]
    if isinstance(value, msgspec.Struct):
        return {name: with_texts(getattr(value, name), change) for name in value.__struct_fields__}
    return value


def copied(value: Any) -> Any:
    """A JSON-like tree with dicts and lists of its own; anything else in it as it is."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value
