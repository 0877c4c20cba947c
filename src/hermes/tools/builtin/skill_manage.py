"""The skill_manage tool: make and mend the procedures that are kept as files."""

from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import HermesError
from hermes.types.tool import Skills, ToolManifest

SCHEMA = {
    "name": "skill_manage",
    "description": (
        "Make and mend skills. When work took several tries, when the user corrected you, or when a skill"
        " was wrong or lacked a step, offer to keep what was learned: patch the skill at once, or create one"
        " for work that comes again. Prefer patch to edit. The user sees the diff. SKILL.md begins with ---,"
        " name, description (what it does and when), ---; then numbered steps with exact commands, pitfalls,"
        " and how to check the result."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"],
            },
            "name": {"type": "string", "description": "lower-case letters, digits, - . _"},
            "content": {"type": "string", "description": "whole SKILL.md, for create and edit"},
            "category": {"type": "string", "description": "for create"},
            "old_string": {"type": "string", "description": "for patch; it must fit one place"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
            "file_path": {"type": "string", "description": "such as references/api.md; for patch too"},
            "file_content": {"type": "string", "description": "for write_file"},
            "reason": {"type": "string", "description": "why, in a sentence for the user"},
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
