"""What a session has read from outside, as its log and that of its parent tell."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from msgspec import Struct

from hermes.types.message import Message, ToolResult, User


class Source(Struct, frozen=True, kw_only=True):
    """Something from outside that a session has read: its name, and when."""

    name: str
    at: float


_AGAIN: Final = " with other words, "


def news_of(name: str, content: str, log: Iterable[Message]) -> str:
    """The name for what a source gives: where it gave other words before, in these messages, a name of its
    own, so that what knew those does not know these.
    """
    before = [one for one in log if isinstance(one, ToolResult) and name and first_name(one.outside) == name]
    again = f"{name}{_AGAIN}{hashlib.blake2s(content.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    same = (one.outside for one in before if one.content == content)
    return next(same, again if before else name)


def first_name(name: str) -> str:
    """The name of a source, whatever words it gave."""
    return name.partition(_AGAIN)[0]


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
