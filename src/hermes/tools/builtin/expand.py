"""The expand tool: entries of the session's log word for word, also those that a model sees no more."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.tools.log_entries import entry_range, words
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.message import Message
from hermes.types.tool import ToolManifest

PAGE: Final = 6_000
"""Characters of one page."""

SCHEMA = {
    "name": "expand",
    "description": (
        "Entries of this conversation word for word, by the numbers that a record or a shortened message"
        " gives in brackets. Use it when the exact text matters."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "entries": {"type": "string", "description": "a number or a range, such as 12 or 12-15"},
            "page": {"type": "integer", "minimum": 1, "default": 1},
        },
        "required": ["entries"],
    },
}


async def expand(args: Mapping[str, Any], **keywords: Any) -> str:
    """One page of the entries' words."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("expand needs a session; it cannot be called on its own.")
    asked = entry_range(wanted := str(args.get("entries", "")))
    if asked is None:
        return tool_error("entries is a number or a range, such as 12 or 12-15.")
    first, last = asked
    found: Sequence[Message] = context.entries(first, last)
    text = "\n\n".join(f"[{number}] {words(one)}" for number, one in enumerate(found, start=first))
    if not text:
        return tool_error(f"There is no entry {wanted.strip()} before this call.")
    pages = -(-len(text) // PAGE)
    page = min(max(1, int(args.get("page") or 1)), pages)
    return tool_result(text=text[(page - 1) * PAGE : page * PAGE], page=page, pages=pages)


registry.register(
    name="expand",
    toolset="context",
    schema=SCHEMA,
    handler=expand,
    is_async=True,
    emoji="🗂",
    manifest=ToolManifest(effects=(), parallel="safe"),
)
