"""The search_files tool: find lines by a regular expression, or files by name."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.lib.edit.textfile import decode
from hermes.lib.text import mend_surrogates
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, no_session, workspace_of
from hermes.types.error import Refused
from hermes.types.tool import ToolManifest
from hermes.types.workspace import Match, Workspace

DEFAULT_RESULTS: Final = 50
MOST_RESULTS: Final = 10_000
_LONGEST_LINE: Final = 500


async def search_files(args: Mapping[str, Any], **keywords: Any) -> str:
    """Matching lines, files with matches, counts, or files by name; a page of them and how many there are."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("search_files")
    if not (pattern := str(args.get("pattern") or "")):
        return tool_error("pattern is missing")
    path = str(args.get("path") or ".")
    try:
        if args.get("target") == "files":
            found = await workspace.find(pattern, path=path, limit=MOST_RESULTS)
            return _paged(args, "files", [_near(workspace, entry.path) for entry in found])
        matches = await workspace.search(
            pattern, path=path, file_glob=str(args.get("file_glob") or ""), limit=MOST_RESULTS
        )
        return await _content(workspace, args, matches)
    except Refused as refusal:
        return blocked(refusal)
    except ValueError as error:
        return tool_error(str(error))
    except OSError as error:
        return tool_error(f"{path} cannot be searched: {error.strerror or error}")


async def _content(workspace: Workspace, args: Mapping[str, Any], matches: Sequence[Match]) -> str:
    mode = args.get("output_mode") or "content"
    counts = Counter(_near(workspace, match.path) for match in matches)
    if mode == "files_only":
        return _paged(args, "files", list(counts))
    if mode == "count":
        return _paged(
            args,
            "counts",
            [{"path": path, "count": count} for path, count in counts.items()],
            total=len(matches),
        )
    start, stop = _page(args)
    around = min(max(0, int(args.get("context") or 0)), 20)
    shown = [await _shown(workspace, match, around) for match in matches[start:stop]]
    return _paged(args, "matches", shown, total=len(matches), cut=True)


async def _shown(workspace: Workspace, match: Match, around: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "path": _near(workspace, match.path),
        "line": match.line,
        "content": _clipped(match.content),
    }
    if around:
        lines = decode(await workspace.read(match.path))[0].removesuffix("\n").split("\n")
        at = match.line - 1
        shown["before"] = [_clipped(line) for line in lines[max(0, at - around) : at]]
        shown["after"] = [_clipped(line) for line in lines[at + 1 : at + 1 + around]]
    return shown


def _clipped(line: str) -> str:
    return mend_surrogates(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…")


def _page(args: Mapping[str, Any]) -> tuple[int, int]:
    start = max(0, int(args.get("offset") or 0))
    return start, start + max(1, int(args.get("limit") or DEFAULT_RESULTS))


def _paged(
    args: Mapping[str, Any], name: str, items: list[Any], *, total: int | None = None, cut: bool = False
) -> str:
    """A page of `items` (they are one already if `cut`), and where the next begins."""
    start, stop = _page(args)
    shown = items if cut else items[start:stop]
    among = total if cut and total is not None else len(items)
    result: dict[str, Any] = {"total_count": len(items) if total is None else total, name: shown}
    if start + len(shown) < among:
        result |= {"truncated": True, "hint": f"go on with offset={start + len(shown)}"}
    return tool_result(result)


def _near(workspace: Workspace, path: str) -> str:
    """A path as short as it can be given from the current directory."""
    return path.removeprefix(workspace.cwd.rstrip("/") + "/")


registry.register(
    name="search_files",
    toolset="file",
    schema={
        "name": "search_files",
        "description": (
            "Search below path, ignored files left out. target=content: lines that match a regular"
            " expression; target=files: files whose name fits a glob, newest first."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Regular expression, or glob for target=files"},
                "target": {"type": "string", "enum": ["content", "files"], "default": "content"},
                "path": {"type": "string", "default": "."},
                "file_glob": {"type": "string", "description": "Only files like this, such as *.py"},
                "limit": {"type": "integer", "default": DEFAULT_RESULTS},
                "offset": {"type": "integer", "default": 0},
                "output_mode": {
                    "type": "string",
                    "enum": ["content", "files_only", "count"],
                    "default": "content",
                },
                "context": {"type": "integer", "default": 0, "description": "Lines around each match"},
            },
            "required": ["pattern"],
        },
    },
    handler=search_files,
    is_async=True,
    emoji="🔎",
    max_result_size_chars=100_000,
    manifest=ToolManifest(effects=(), parallel="safe", workspace=True),
)
