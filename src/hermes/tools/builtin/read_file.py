"""The read_file tool: text with line numbers, a page at a time."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from hermes.lib.edit.textfile import decode, is_binary, is_image
from hermes.lib.nearest import nearest
from hermes.lib.text import mend_surrogates
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, no_session, workspace_of
from hermes.types.error import Refused
from hermes.types.tool import ToolManifest
from hermes.types.workspace import Workspace

DEFAULT_LINES: Final = 500
MOST_LINES: Final = 2_000
LONGEST_LINE: Final = 2_000
MOST_CHARS: Final = 100_000


async def read_file(args: Mapping[str, Any], **keywords: Any) -> str:
    """A page of a text file as `number|line`, with the file's size and number of lines."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("read_file")
    path = str(args.get("path") or "")
    if not path:
        return tool_error("path is missing")
    try:
        data = await workspace.read(path)
    except Refused as refusal:
        return blocked(refusal)
    except FileNotFoundError:
        return await _not_found(workspace, path)
    except IsADirectoryError:
        return tool_error(f"{path} is a folder; use search_files with target=files, or ls")
    except OSError as error:
        return tool_error(f"{path} cannot be read: {error.strerror or error}")
    return _page(
        path,
        data,
        max(1, int(args.get("offset") or 1)),
        min(max(1, int(args.get("limit") or DEFAULT_LINES)), MOST_LINES),
    )


def _page(path: str, data: bytes, offset: int, limit: int) -> str:
    facts: dict[str, Any] = {"file_size": len(data), "is_binary": is_binary(data), "is_image": is_image(data)}
    if facts["is_binary"]:
        return tool_error(f"{path} is {'an image' if facts['is_image'] else 'binary'}, not text", **facts)
    text = decode(data)[0]
    lines = text.removesuffix("\n").split("\n") if text else []
    page = lines[offset - 1 : offset - 1 + limit]
    if lines and not page:
        return tool_error(
            f"{path} has {len(lines)} lines; offset {offset} is behind its end",
            total_lines=len(lines),
            **facts,
        )
    content = "\n".join(f"{number}|{_clipped(line)}" for number, line in enumerate(page, start=offset))
    if len(content) > MOST_CHARS:
        fewer = max(1, len(page) * MOST_CHARS // len(content) // 2)
        return tool_error(
            f"these {len(page)} lines have {len(content)} characters, more than {MOST_CHARS}; read with"
            f" limit={fewer}",
            **facts,
        )
    left = len(lines) - (offset - 1 + len(page))
    result = {"content": mend_surrogates(content), "total_lines": len(lines), "truncated": left > 0, **facts}
    return tool_result(
        {**result, "hint": f"{left} more lines; go on with offset={offset + len(page)}"}
        if left > 0
        else result
    )


def _clipped(line: str) -> str:
    return (
        line
        if len(line) <= LONGEST_LINE
        else f"{line[:LONGEST_LINE]}… [{len(line) - LONGEST_LINE} more characters]"
    )


async def _not_found(workspace: Workspace, path: str) -> str:
    wanted = PurePosixPath(path)
    try:
        names = [PurePosixPath(entry.path).name for entry in await workspace.list(str(wanted.parent))]
    except Refused as refusal:
        return blocked(refusal)
    except OSError:
        return tool_error(f"{path} was not found, and there is no folder {wanted.parent}")
    near = nearest(wanted.name, names, most=5)
    if not near:
        return tool_error(f"{path} was not found")
    return tool_error(
        f"{path} was not found; similar names there: {', '.join(near)}",
        similar_files=[str(wanted.parent / name) for name in near],
    )


registry.register(
    name="read_file",
    toolset="file",
    schema={
        "name": "read_file",
        "description": (
            "Read a text file; lines come as number|text. Page through long files with offset and limit."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line"},
                "limit": {
                    "type": "integer",
                    "maximum": MOST_LINES,
                    "default": DEFAULT_LINES,
                    "description": "Lines at most",
                },
            },
            "required": ["path"],
        },
    },
    handler=read_file,
    is_async=True,
    emoji="📖",
    max_result_size_chars=100_000,
    manifest=ToolManifest(effects=(), parallel="by_path", paths=("path",), workspace=True),
)
