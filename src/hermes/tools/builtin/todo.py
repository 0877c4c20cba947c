"""The session's plan: read it, replace it, or merge into it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.tool import ToolManifest

STATUSES = ("pending", "in_progress", "completed", "cancelled")
MOST_ITEMS, LONGEST, IN_ALL = 256, 4000, 40_000  # in all, so that a result holds the plan whole

SCHEMA = {
    "name": "todo",
    "description": (
        "The plan of this session. Without todos it gives the plan. With todos it replaces the plan, or"
        " changes items by id with merge. Use it for work of three steps or more; keep one item in_progress."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "content": {"type": "string", "description": "what to do"},
                        "status": {"type": "string", "enum": list(STATUSES)},
                    },
                    "required": ["id", "content", "status"],
                },
            },
            "merge": {
                "type": "boolean",
                "description": "change items by id, keep the others",
                "default": False,
            },
        },
        "required": [],
    },
}


async def todo(args: Mapping[str, Any], **keywords: Any) -> str:
    """The plan after the call, with counts by status."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("todo needs a session; it cannot be called on its own.")
    if args.get("todos") is None:
        return _shown(context.todos.read())
    items = [{key: str(item[key]) for key in ("id", "content", "status")} for item in args["todos"]]
    if len(items) > MOST_ITEMS:
        return tool_error(f"A plan has at most {MOST_ITEMS} items; these are {len(items)}.")
    if any(len(item["content"]) > LONGEST for item in items):
        return tool_error(f"An item has at most {LONGEST} characters.")
    twice = [number for number, count in Counter(item["id"] for item in items).items() if count > 1]
    if twice:
        return tool_error(f"Each id may stand once; twice: {', '.join(twice)}.")
    before = context.todos.read()
    written = _shown(context.todos.write(items, merge=bool(args.get("merge"))))
    if len(written) > IN_ALL:
        context.todos.write(before, merge=False)
        return tool_error(f"A plan has at most {IN_ALL} characters in all; this would be {len(written)}.")
    return written


def _shown(items: list[dict[str, str]]) -> str:
    counts = Counter(item["status"] for item in items)
    return tool_result(
        todos=items, summary={"total": len(items), **{status: counts[status] for status in STATUSES}}
    )


registry.register(
    name="todo",
    toolset="todo",
    schema=SCHEMA,
    handler=todo,
    is_async=True,
    emoji="📋",
    manifest=ToolManifest(effects=()),
)
