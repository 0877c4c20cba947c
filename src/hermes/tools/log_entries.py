"""Entries of a session's log in words, for the tool and the command that show them."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

_RANGE: Final = re.compile(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?")


def entry_range(text: str) -> tuple[int, int] | None:
    """The first and the last number of a range such as 12 or 12-15; None where it is none."""
    found = _RANGE.fullmatch(text)
    return (int(found[1]), int(found[2] or found[1])) if found else None


def words(message: Message) -> str:
    """One entry in words, whole."""
    match message:
        case User():
            return f"user: {message.told}"
        case Assistant():
            return "\n".join(("assistant: " + message.text, *_calls(message)))
        case ToolResult():
            return "\n".join(filter(None, (f"result of {message.name}: {message.content}", message.note)))
        case Compaction():
            return f"record: {message.summary}"


def _calls(message: Assistant) -> Iterator[str]:
    for call in message.calls:
        yield f"call {call.name} {call.raw or dict(call.arguments)}"
