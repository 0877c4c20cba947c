"""What a session has read from outside, as its log and that of its parent tell."""

from collections.abc import Iterable

from msgspec import Struct

from hermes.types.message import Message, ToolResult


class Source(Struct, frozen=True, kw_only=True):
    """Something from outside that a session has read: its name, and when."""

    name: str
    at: float


def sources(log: Iterable[Message], before: Iterable[Source] = ()) -> tuple[Source, ...]:
    """What the messages of a log brought in from outside, after what was read `before`; each once, in
    order.
    """
    found = {one.name: one for one in before}
    for message in log:
        if isinstance(message, ToolResult) and message.outside:
            found.setdefault(message.outside, Source(name=message.outside, at=message.at))
    return tuple(found.values())
