"""Events to and from JSON, for other processes and for reading again."""

from typing import Any, get_args, get_type_hints

import msgspec

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
    fields = {one: getattr(event, one) for one in get_type_hints(type(event)) if one != name}
    return msgspec.json.encode(codec.mended(fields) | {name: msgspec.Raw(union.encode(getattr(event, name)))})


def decode(data: bytes) -> Event:
    """The event that `encode` wrote, stamp included; msgspec.DecodeError when it is none."""
    kind = codec.tag(data)
    member = _BY_KIND.get(kind)
    if member is None:
        event: Event = _PLAIN.decode_kind(kind, data)
        return event
    name, union = _INNER[member]
    hints = get_type_hints(member)
    fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    values = {
        one: union.decode(bytes(raw)) if one == name else msgspec.json.decode(raw, type=hints[one])
        for one, raw in fields.items()
        if one in hints
    }
    return member(**values)  # type: ignore[no-any-return]  # one of the union
