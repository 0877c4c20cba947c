"""The skill_view tool: a procedure that is kept as files, or one of its files."""

from collections.abc import Mapping
from typing import Any

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import HermesError
from hermes.types.tool import Skills, ToolManifest

SCHEMA = {
    "name": "skill_view",
    "description": (
        "Load a skill: its procedure, its folder and files, what is missing. With file_path one of the files."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "file_path": {"type": "string", "description": "such as references/api.md"},
        },
        "required": ["name"],
    },
}


def skill_view(args: Mapping[str, Any], **keywords: Any) -> str:
    """The skill, or the file."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("skill_view needs a session; it cannot be called on its own.")
    skills: Skills = context.skills
    try:
        return tool_result(success=True, **skills.view(str(args["name"]), str(args.get("file_path") or "")))
    except HermesError as error:
        return tool_error(str(error))


registry.register(
    name="skill_view",
    toolset="skills",
    schema=SCHEMA,
    handler=skill_view,
    emoji="📚",
    manifest=ToolManifest(effects=(), parallel="safe"),
)
