"""What a model with a small window gets: few tools, short schemas, calls to learn from, and a short
prompt.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from hermes.lib.data_files import data_table, data_text
from hermes.models.local.turn_state import PROBLEM
from hermes.types.message import Assistant, Message, Thinking, ToolCall, ToolResult, User


def prompt() -> str:
    """The system prompt for a small window; it names no directory and no date, so every session shares its
    cache.
    """
    text: str = data_text("prompts/small.md")
    return text.strip()


@cache
def writers() -> frozenset[str]:
    """The tools that do nothing but write."""
    return frozenset(tool["name"] for tool in _table()["tools"] if tool.get("writes"))


@cache
def python_argument(tool: str) -> str:
    """The argument of a tool that is Python code; empty where there is none."""
    return next((str(one.get("python", "")) for one in _table()["tools"] if one["name"] == tool), "")


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
    first = (Thinking(text=row["needs"]),)
    for number, step in enumerate(row.get("steps", ())):
        call = ToolCall(id=f"{name}-{number}", name=step["tool"], arguments=step["arguments"])
        yield Assistant(id=call.id, at=0, calls=(call,), thinking=() if number else first)
        yield ToolResult(
            id=call.id, at=0, call_id=call.id, name=call.name, content=json.dumps(step["result"])
        )
    end = first if "steps" not in row else (Thinking(text=PROBLEM),) if PROBLEM in row else ()
    yield Assistant(id=name, at=0, text=row.get("answer") or row[PROBLEM], thinking=end)


@cache
def _table() -> Mapping[str, Any]:
    return data_table("small_tools.toml")
