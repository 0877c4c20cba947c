"""The execute_code tool: run a Python script that calls tools, in the environment of the session."""

from collections.abc import Mapping
from typing import Any, Final

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, no_session
from hermes.types.error import ExecError, Refused
from hermes.types.tool import ToolManifest

# Each function in a sentence of its own: that of a tool which is not offered is left out.
DESCRIPTION: Final = (
    "Run a Python script that calls tools: for many calls, loops and filters in one step; only what it prints"
    " comes back. Import these from hermes_tools; each gives a dict. read_file(path, offset, limit)."
    " write_file(path, content). search_files(pattern, target, path). patch(path, old_string, new_string)."
    " terminal(command, timeout)."
)


async def execute_code(args: Mapping[str, Any], **keywords: Any) -> str:
    """What the script printed, its exit code, and how many calls it made."""
    context = keywords.get("ctx")
    if context is None:
        return no_session("execute_code")
    code = args.get("code")
    if not isinstance(code, str) or not code.strip():
        return tool_error("code must be a non-empty string")
    try:
        done = await context.run_script(code)
    except Refused as refusal:
        return blocked(refusal, output="", exit_code=-1)
    except ExecError as error:
        return tool_result(output="", exit_code=-1, error=str(error), status="error")
    return tool_result(done.as_result())


registry.register(
    name="execute_code",
    toolset="code_execution",
    schema={
        "name": "execute_code",
        "description": DESCRIPTION,
        "parameters": {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The script"}},
            "required": ["code"],
        },
    },
    handler=execute_code,
    is_async=True,
    emoji="🐍",
    max_result_size_chars=100_000,
    manifest=ToolManifest(effects=("files", "processes"), workspace=True),
)
