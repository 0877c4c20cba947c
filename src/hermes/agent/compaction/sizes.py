"""How many tokens messages take, as far as that can be said without the model's own tokenizer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from hermes.lib.text import tokens
from hermes.models.reliability.continuation import context_tokens
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User

IMAGE: Final = 1600
"""Tokens of a picture."""
FRAME: Final = 4
"""Tokens that a message takes beside its words."""


def size(message: Message) -> int:
    """The tokens of one message."""
    match message:
        case User():
            words, pictures = message.told, len(message.attachments)
        case ToolResult():
            words, pictures = message.content + message.note, len(message.images)
        case Compaction():
            words, pictures = message.summary, 0
        case Assistant():
            calls = "".join(call.name + (call.raw or written(call.arguments)) for call in message.calls)
            words, pictures = message.text + calls + "".join(one.text for one in message.thinking), 0
    return FRAME + tokens(words) + pictures * IMAGE


def total(messages: Iterable[Message]) -> int:
    """The tokens of several."""
    return sum(map(size, messages))


def written(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON."""
    return msgspec.json.encode(arguments).decode("utf-8", "replace")


def counted(log: Sequence[Message]) -> tuple[int, int]:
    """Tokens of the last request and its reply, as the provider counted them, or what a compaction has left
    since; and how many messages of the log that is of. 0 of 0 before the first.
    """
    for number in range(len(log), 0, -1):
        one = log[number - 1]
        if isinstance(one, Assistant) and one.usage.input_tokens:
            return context_tokens(one), number
        if isinstance(one, Compaction) and one.after:
            return one.after, number
    return 0, 0
