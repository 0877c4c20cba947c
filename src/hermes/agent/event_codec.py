"""Events to and from JSON, for other processes and for reading again."""

from typing import Any, get_args

import msgspec
from msgspec.structs import fields

from hermes.lib import codec
from hermes.types.event import Added, Answered, Asked, Event
from hermes.types.message import Message
from hermes.types.question import Answer, Question

_MEMBERS: tuple[type[Event], ...] = get_args(Event)
_PLAIN: codec.Union[Any] = codec.Union(*(one for one in _MEMBERS if one not in {Added, Asked, Answered}))
_INNER: dict[type[Any], tuple[str, codec.Union[Any]]] = {
    Added: ("message", codec.Union(*get_args(Message))),
    Asked: ("question", codec.Union(*get_args(Question))),
    Answered: ("answer", codec.Union(*get_args(Answer))),
}
_BY_KIND = {str(codec.kind_of(one)): one for one in _INNER}


def encode(event: Event) -> bytes:
    """The event as one JSON object; `kind` names its class, fields at their defaults are left out."""
    inner = _INNER.get(type(event))
    if inner is None:
        return _PLAIN.encode(event)
    name, union = inner
    rest = {one: getattr(event, one) for one in event.__struct_fields__ if one not in {name, "stamp"}}
    inside = msgspec.Raw(union.encode(getattr(event, name)))
    return msgspec.json.encode({"stamp": event.stamp, **codec.mended(rest), name: inside})


def decode(data: bytes) -> Event:
    """The event that `encode` wrote, stamp included; msgspec.DecodeError when it is none."""
    kind = codec.tag(data)
    member = _BY_KIND.get(kind)
    if member is None:
        event: Event = _PLAIN.decode_kind(kind, data)
        return event
    name, union = _INNER[member]
    types = {one.name: one.type for one in fields(member)}
    found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    values = {
        one: union.decode(bytes(raw)) if one == name else msgspec.json.decode(raw, type=types[one])
        for one, raw in found.items()
        if one in types
    }
    return member(**values)  # type: ignore[no-any-return]  # one of the union
