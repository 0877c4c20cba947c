"""What a model has read since text from outside came, in words: what may have asked it for something."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from hermes.agent.outside import sources_of
from hermes.agent.provenance import words
from hermes.types.message import ContextBlock, Message, ToolResult, User

if TYPE_CHECKING:
    from hermes.agent.session import Session

_OF_THE_USER: Final = frozenset({"note", "pin", "unpin"})
_KEEPING_NOTHING: Final = frozenset({"network"})


def said_since(session: "Session", known: Collection[str]) -> tuple[str, ...] | None:
    """The texts that the model of a session has read since the first one from outside that is of none of the
    `known` sources; None where that is not all of it: others have read for it, or it saw pictures.

    Where what brought a text in may have left it in a file, that may come back as the user's own, so that
    every result counts.
    """
    log = session.whole_log.messages
    new = {one.name for one in sources_of(session)}.difference(known)
    bringing = [at for at, message in enumerate(log) if not new.isdisjoint(_brought(message))]
    told = {name for at in bringing for name in _brought(log[at])}
    since = log[bringing[0] :] if bringing else ()
    if new - told or any(isinstance(one, ToolResult) and one.images for one in since):
        return None
    kept = any(_may_keep(session, log[at]) for at in bringing)
    return tuple(text for message in since for text in _texts(message, known, kept=kept))


def _brought(message: Message) -> Iterator[str]:
    """The names of the sources from outside of a message."""
    if isinstance(message, ToolResult) and message.outside:
        yield message.outside
    yield from (one.outside for one in _blocks(message) if one.outside)


def _blocks(message: Message) -> tuple[ContextBlock, ...]:
    return message.blocks if isinstance(message, ToolResult | User) else ()


def _may_keep(session: "Session", message: Message) -> bool:
    """Whether what brought a message's text in may have written it to a file."""
    entry = session.tools.tools.get(message.name) if isinstance(message, ToolResult) else None
    return entry is None or not _KEEPING_NOTHING.issuperset(entry.manifest.effects)


def _texts(message: Message, known: Collection[str], *, kept: bool) -> Iterator[str]:
    """What a message tells a model that may come from outside."""
    if isinstance(message, ToolResult) and message.outside not in known and (message.outside or kept):
        yield words(message.content)
    yield from (one.words for one in _blocks(message) if one.kind not in _OF_THE_USER)
