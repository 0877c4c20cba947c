"""From a log to what the model sees: a pure function."""

from collections.abc import Mapping
from typing import Any

from hermes.agent.log import Log
from hermes.types.message import Compaction, Message
from hermes.types.request import Endpoint, Options, Request


def visible(log: Log) -> tuple[Message, ...]:
    """The log as the model sees it: head, summary and what was kept, where a compaction stands; else all of it."""
    messages, at = log.messages, log.compacted
    if at < 0:
        return messages
    entry = messages[at]
    if not isinstance(entry, Compaction):
        raise TypeError(entry)
    kept = next((number for number, message in enumerate(messages[:at]) if message.id == entry.first_kept), at)
    return (*messages[: entry.head], entry, *messages[kept:at], *messages[at + 1 :])


def request(log: Log, *, endpoint: Endpoint, system: str, tools: tuple[Mapping[str, Any], ...], options: Options) -> Request:
    """The request for the next reply."""
    return Request(endpoint=endpoint, system=system, messages=visible(log), tools=tools, options=options)
