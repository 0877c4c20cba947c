"""What a model with a small window gets: few tools, short schemas, calls to learn from, and a short
prompt.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from hermes.lib.data_files import data_table, data_text
from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User

NEVER = r"(?!)"


def prompt() -> str:
    """The system prompt for a small window; it names no directory and no date, so every session shares its
    cache.
    """
    text: str = data_text("prompts/small.md")
    return text.strip()


class Steering(Struct, frozen=True, kw_only=True):
    """The words of one language by which the next step of a small model is chosen.

    `work` speaks of what only a tool can find, `run` asks for a run, `authors` for text to be written and
    `commands` for anything else; `writers` are the tools that only write, `most_writes` times in a row at
    most.
    """

    work: re.Pattern[str]
    run: re.Pattern[str]
    authors: re.Pattern[str]
    commands: re.Pattern[str]
    writers: frozenset[str]
    most_writes: int


@cache
def steering(language: str) -> Steering:
    """The words of that language; of one that nobody wrote down, words that no text has."""
    row = _table()["steering"].get(language, {})
    written = {
        name: re.compile(row.get(name, NEVER), re.VERBOSE | re.IGNORECASE)
        for name in ("work", "run", "authors", "commands")
    }
    return Steering(
        **written, writers=frozenset(row.get("writers", ())), most_writes=row.get("most_writes", 0)
    )


def definitions(offered: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Those of the offered definitions (OpenAI function form) that suit a small model, in their short
    form.
    """
    names = {definition["function"]["name"] for definition in offered}
    return tuple(_definition(tool) for tool in _table()["tools"] if tool["name"] in names)


def examples(names: Iterable[str]) -> tuple[Message, ...]:
    """Short sessions that show how to work, as a log; only those that need no other tools than `names`."""
    known = set(names)
    rows = [
        row for row in _table()["examples"] if known.issuperset(step["tool"] for step in row.get("steps", ()))
    ]
    return tuple(message for number, row in enumerate(rows) for message in _session(row, f"example-{number}"))


def _definition(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    fixed = {name: {"const": value} for name, value in tool.get("constants", {}).items()}
    properties = {**fixed, **{name: {"type": kind} for name, kind in tool["arguments"].items()}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": tool["name"], "description": tool["description"], "parameters": schema},
    }


def _session(row: Mapping[str, Any], name: str) -> Iterable[Message]:
    yield User(id=name, at=0, text=row["request"])
    for number, step in enumerate(row.get("steps", ())):
        call = ToolCall(id=f"{name}-{number}", name=step["tool"], arguments=step["arguments"])
        yield Assistant(id=call.id, at=0, calls=(call,))
        yield ToolResult(
            id=call.id, at=0, call_id=call.id, name=call.name, content=json.dumps(step["result"])
        )
    yield Assistant(id=name, at=0, text=row["answer"])


@cache
def _table() -> Mapping[str, Any]:
    return data_table("small_tools.toml")
