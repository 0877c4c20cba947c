"""What a session has read from outside, as its log and that of its parent tell."""

from collections.abc import Iterable, Iterator
from itertools import chain

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
    return joined(before, (Source(name=name, at=one.at) for one in log for name in _outside(one)))


def joined(*read: Iterable[Source]) -> tuple[Source, ...]:
    """What was read, each once, as it was read first."""
    found: dict[str, Source] = {}
    for one in chain.from_iterable(read):
        found.setdefault(one.name, one)
    return tuple(found.values())


def _outside(message: Message) -> Iterator[str]:
    """The names of what a message and the blocks on it brought in."""
    if isinstance(message, ToolResult) and message.outside:
        yield message.outside
    if isinstance(message, ToolResult | User) and message.blocks:
        yield from (block.outside for block in message.blocks if block.outside)
