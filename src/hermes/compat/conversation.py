"""The messages of a log as tables of chat completions."""

import json
from collections.abc import Iterable
from typing import Any

from hermes.types.message import Assistant, Message, ToolResult, User


def as_tables(log: Iterable[Message]) -> list[dict[str, Any]]:
    """Each message with its `role` and `content`; the records of compactions are left out."""
    return [table for table in map(_table, log) if table]


def _table(message: Message) -> dict[str, Any]:
    match message:
        case User():
            return {"role": "user", "content": message.text}
        case Assistant(calls=()):
            return {"role": "assistant", "content": message.text}
        case Assistant():
            calls = [
                {
                    "id": one.id,
                    "type": "function",
                    "function": {"name": one.name, "arguments": one.raw or json.dumps(dict(one.arguments))},
                }
                for one in message.calls
            ]
            return {"role": "assistant", "content": message.text, "tool_calls": calls}
        case ToolResult():
            return {
                "role": "tool",
                "tool_call_id": message.call_id,
                "name": message.name,
                "content": message.content,
            }
        case _:
            return {}
