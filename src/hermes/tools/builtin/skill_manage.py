"""The skill_manage tool: make and mend the procedures that are kept as files."""

from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import HermesError
from hermes.types.tool import Skills, ToolManifest

SCHEMA = {
    "name": "skill_manage",
    "description": (
        "Make and mend skills; the user sees the diff. Offer it when work took several tries or you were"
        " corrected; patch a wrong one. SKILL.md: ---, name, description (what and when),"
        " ---, then steps with exact commands, pitfalls, how to check."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"],
            },
            "name": {"type": "string"},
            "content": {"type": "string", "description": "SKILL.md, for create and edit"},
            "category": {"type": "string"},
            "old_string": {"type": "string", "description": "it must fit one place"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
            "file_path": {"type": "string", "description": "such as references/api.md"},
            "file_content": {"type": "string"},
            "reason": {"type": "string", "description": "a sentence for the user"},
        },
        "required": ["action", "name", "reason"],
    },
}


async def skill_manage(args: Mapping[str, Any], **keywords: Any) -> str:
    """What became of the change: made, or waiting for the user."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("skill_manage needs a session; it cannot be called on its own.")
    skills: Skills = context.skills
    try:
        return tool_result(success=True, **await skills.change(args, str(args.get("reason") or "")))
    except HermesError as error:
        return tool_error(str(error))


registry.register(
    name="skill_manage",
    toolset="skills",
    schema=SCHEMA,
    handler=skill_manage,
    is_async=True,
    emoji="📚",
    manifest=ToolManifest(effects=("memory",)),
)
