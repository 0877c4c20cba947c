"""Entries of a session's log in words, for the tool and the command that show them."""

from collections.abc import Iterator

from hermes.types.message import Assistant, Compaction, Message, ToolResult, User


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
