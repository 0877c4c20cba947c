"""The memory tool: note, change and remove what later sessions are told."""

from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import HermesError
from hermes.types.tool import ToolManifest

_CHANGE = {
    "action": {"type": "string", "enum": ["add", "replace", "remove"]},
    "content": {"type": "string", "description": "The fact, for add and replace"},
    "old_text": {"type": "string", "description": "For replace and remove: words that only that note has"},
}
SCHEMA = {
    "name": "memory",
    "description": (
        "Notes for later sessions: target memory is about machines, projects and ways of working, user about"
        " who the user is and what they like. They stand in the prompt of the next session. Several changes"
        " at once go in operations; all are made, or none."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "target": {"type": "string", "enum": ["memory", "user"]},
            **_CHANGE,
            "operations": {
                "type": "array",
                "items": {"type": "object", "properties": _CHANGE, "required": ["action"]},
            },
        },
        "required": ["target"],
    },
}


async def memory(args: Mapping[str, Any], **keywords: Any) -> str:
    """The notes after the changes, with what they take of their room."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("memory needs a session; it cannot be called on its own.")
    changes = args.get("operations") or [args]
    edits = [{name: str(one.get(name) or "") for name in _CHANGE} for one in changes]
    try:
        notes = context.memory.edit(args["target"], edits)
    except HermesError as error:
        return tool_error(str(error))
    return tool_result(success=True, **notes)


registry.register(
    name="memory",
    toolset="memory",
    schema=SCHEMA,
    handler=memory,
    is_async=True,
    emoji="🧠",
    manifest=ToolManifest(effects=("memory",)),
)
