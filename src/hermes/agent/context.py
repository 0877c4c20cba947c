"""What of a session's log a model sees, and who makes room when that is too much."""

from typing import Protocol

from hermes.agent.log import Log
from hermes.types.error import ContextOverflow
from hermes.types.message import Compaction, Message
from hermes.types.request import Endpoint


class ContextManager(Protocol):
    """Chooses what a model sees of a log, and shortens it when a request was too long."""

    def messages(self, log: Log) -> tuple[Message, ...]:
        """The messages of the next request; each extends the one before it unless room was made."""

    async def make_room(self, log: Log, endpoint: Endpoint, overflow: ContextOverflow) -> Compaction | None:
        """An entry that stands for older messages, to be appended; None when there is nothing to leave
        out.
        """


class WholeLog:
    """Shows the log as it is; a conversation that no model of the route has room for cannot go on."""

    def messages(self, log: Log) -> tuple[Message, ...]:
        """Everything, with compactions applied."""
        return visible(log)

    async def make_room(self, log: Log, endpoint: Endpoint, overflow: ContextOverflow) -> Compaction | None:
        """Nothing is left out."""
        del log, endpoint, overflow
        return None


def visible(log: Log) -> tuple[Message, ...]:
    """The log as the model sees it: head, summary and what was kept, where a compaction stands; else all of
    it.
    """
    messages, at = log.messages, log.compacted
    if at < 0:
        return messages
    entry = messages[at]
    if not isinstance(entry, Compaction):
        raise TypeError(entry)
    kept = next(
        (number for number, message in enumerate(messages[:at]) if message.id == entry.first_kept), at
    )
    return (*messages[: entry.head], entry, *messages[kept:at], *messages[at + 1 :])
