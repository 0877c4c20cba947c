"""The skills_list tool: names and descriptions of the procedures that are kept as files."""

from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.tool import Skills, ToolManifest

SCHEMA = {
    "name": "skills_list",
    "description": "Names and descriptions of skills.",
    "parameters": {
        "type": "object",
        "properties": {"category": {"type": "string"}},
        "required": [],
    },
}


def skills_list(args: Mapping[str, Any], **keywords: Any) -> str:
    """The skills that are of use to the session."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("skills_list needs a session; it cannot be called on its own.")
    skills: Skills = context.skills
    category = str(args.get("category") or "")
    found = skills.listed(category)
    if category and not found:
        return tool_error(
            f"There is no category {category[:80]!r} of skills; without category all are listed."
        )
    return tool_result(success=True, skills=found)


registry.register(
    name="skills_list",
    toolset="skills",
    schema=SCHEMA,
    handler=skills_list,
    emoji="📚",
    manifest=ToolManifest(effects=(), parallel="safe"),
)
