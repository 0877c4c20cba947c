"""Tool calls that a model printed as text, read back: bare, fenced, tagged, with doubled braces or Python's quotes."""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import json_repair

from hermes.types.message import ToolCall

_MOST_STARTS = 200
_WRAPPERS = re.compile(r"<tool_calls?>[\s,\[\]]*(</tool_calls?>)?|</tool_calls?>|```\w*[\s,\[\]]*```|\A\s*\[[\s,]*\]\s*\Z")


def recover(text: str, tool_names: Collection[str], new_id: Callable[[], str] | None = None) -> tuple[str, tuple[ToolCall, ...]]:
    """`text` without the calls printed in it, and those calls; only real tools with an object of arguments count.

    Without `new_id` the ids are call_0, call_1, … . Text without calls comes back as it was.
    """
    calls: list[ToolCall] = []
    kept, end = [], 0
    for start, stop in _objects(text):
        found = _call(text[start:stop], tool_names)
        if found is None:
            continue
        name, arguments, repaired = found
        raw = json.dumps(arguments, ensure_ascii=False, default=str)
        identity = new_id() if new_id else f"call_{len(calls)}"
        calls.append(ToolCall(id=identity, name=name, arguments=arguments, raw=raw, repaired=repaired))
        kept.append(text[end:start])
        end = stop
    if not calls:
        return text, ()
    return _WRAPPERS.sub("", "".join([*kept, text[end:]])).strip(), tuple(calls)


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each outermost stretch in balanced braces."""
    position = 0
    for _ in range(_MOST_STARTS):
        start = text.find("{", position)
        if start < 0:
            return
        stop = _closing(text, start, "\"'") or _closing(text, start, '"')
        if stop:
            yield start, stop
        position = stop or start + 1


def _closing(text: str, start: int, quotes: str) -> int:
    """The end of the object that opens at `start`, or 0; braces in strings do not count."""
    depth, quote, skip = 0, "", False
    for index in range(start, len(text)):
        letter = text[index]
        if skip:
            skip = False
        elif quote:
            skip, quote = letter == "\\", "" if letter == quote else quote
        elif letter in quotes:
            quote = letter
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return index + 1
    return 0


def _call(text: str, tool_names: Collection[str]) -> tuple[str, dict[str, Any], bool] | None:
    value, repaired = _read(text)
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    form: Mapping[str, Any] = inner if isinstance(inner, dict) else value
    name = next((form[key] for key in ("name", "tool", "tool_name", "function") if isinstance(form.get(key), str)), "")
    arguments = next((form[key] for key in ("arguments", "parameters", "args", "input") if key in form), None)
    if isinstance(arguments, str):
        arguments, _ = _read(arguments)
    return (name, arguments, repaired) if name in tool_names and isinstance(arguments, dict) else None


def _read(text: str) -> tuple[Any, bool]:
    """The value written as `text`, and whether it had to be mended; None when it is nothing like an object."""
    plain = text.replace("{{", "{").replace("}}", "}") if text.startswith("{{") else text
    for reader in (json.loads, ast.literal_eval):
        try:
            return reader(plain), reader is not json.loads or plain is not text
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    if not any(mark in plain for mark in ('"', "'")):
        return None, False
    return json_repair.loads(plain), True
