"""The write_file tool: a whole file at once."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import anyio.to_thread

from hermes.lib.edit.diff import Redact, readable, unified
from hermes.lib.edit.textfile import Form, decode, encode, is_binary
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, by_real_names, lint, no_session, workspace_of
from hermes.types.error import Refused
from hermes.types.tool import ToolManifest
from hermes.types.workspace import FileEdit, Workspace

_DIFFED = 400_000  # characters of both texts: a tenth of a second where every line differs


async def write_file(args: Mapping[str, Any], **keywords: Any) -> str:
    """Write a file and give its size and whether it is well-formed."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("write_file")
    path, content = args.get("path"), args.get("content")
    if not path or not isinstance(path, str) or not isinstance(content, str):
        return tool_error("path and content must be strings, and path not empty")
    if _is_numbered(content):
        return tool_error("the content has the line numbers that read_file shows; write it without them")
    try:
        was = await _existing(workspace, path)
        if was and args.get("overwrite") is False and not keywords["ctx"].has_handled(path):
            return tool_error(f"{path} is there already; read it, and change what is to change with patch")
        before, form = _read(was)
        made_folders = was is None and await workspace.stat(str(PurePosixPath(path).parent)) is None
        data = encode(content, form)
        redact = await by_real_names(keywords["ctx"].redact, workspace, [path])
        diff = await anyio.to_thread.run_sync(_diff, before, decode(data)[0], path, redact)
        written = await workspace.write(path, data, edit=FileEdit(diff=diff, was=was))
    except Refused as refusal:
        return blocked(refusal)
    except OSError as error:
        return tool_error(f"{path} cannot be written: {error.strerror or error}")
    if before and diff:
        keywords["ctx"].changed(diff)
    return tool_result(
        bytes_written=len(data),
        dirs_created=made_folders,
        lint=lint(path, before, content),
        resolved_path=written.path,
        files_modified=[written.path],
        **(
            {"note": f"{written.path} is the session's own; outside it is {written.real}"}
            if written.real
            else {}
        ),
    )


async def _existing(workspace: Workspace, path: str) -> bytes | None:
    """What is there, if it is a file."""
    try:
        return await workspace.read(path)
    except (FileNotFoundError, IsADirectoryError):
        return None


def _read(data: bytes | None) -> tuple[str | None, Form]:
    """The text that is there, if any, and the form to keep: a text file's own, none for anything else."""
    if data is None:
        return None, Form()
    return ("", Form()) if is_binary(data) else decode(data)


def _diff(before: str | None, after: str, path: str, redact: Redact) -> str:
    """What becomes of a text; empty for one that is not read in passing."""
    if len(before or "") + len(after) > _DIFFED:
        return ""
    return readable(unified(before, after, path, redact))


def _is_numbered(content: str) -> bool:
    """Whether every line carries its number as read_file shows them, in sequence."""
    numbers = [re.match(r"(\d+)\|", line) for line in content.removesuffix("\n").split("\n")]
    if len(numbers) < 3 or not all(numbers):  # two such lines can be data
        return False
    values = [int(match[1]) for match in numbers if match]
    return values == list(range(values[0], values[0] + len(values)))


registry.register(
    name="write_file",
    toolset="file",
    schema={
        "name": "write_file",
        "description": (
            "Write a whole file; makes folders, replaces what is there. To change part of a file use patch."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "overwrite": {
                    "type": "boolean",
                    "default": True,
                    "description": "false: a file that you have not read is not replaced",
                },
            },
            "required": ["path", "content"],
        },
    },
    handler=write_file,
    is_async=True,
    emoji="✍️",
    max_result_size_chars=100_000,
    manifest=ToolManifest(effects=("files",), parallel="by_path", paths=("path",), workspace=True),
)
