"""What a session has read from outside, as its log and that of its parent tell."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hermes.types.message import Message, ToolResult, User


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
        for name in _outside(message):
            found.setdefault(name, Source(name=name, at=message.at))
    return tuple(found.values())


def _outside(message: Message) -> Iterator[str]:
    """The names of what a message and the blocks on it brought in."""
    if isinstance(message, ToolResult) and message.outside:
        yield message.outside
    if isinstance(message, ToolResult | User) and message.blocks:
        yield from (block.outside for block in message.blocks if block.outside)
