"""What the file and terminal tools share: their session's workspace, and the shape of a refusal."""

from collections.abc import Iterable, Mapping
from typing import Any

from hermes.lib.edit.diff import Redact
from hermes.lib.edit.lint import fault
from hermes.tools.registry import tool_error
from hermes.types.error import Outdated, Refused
from hermes.types.tool import ToolContext
from hermes.types.workspace import Workspace

INSTEAD = (
    "Do not try to get around this; find another way that needs no such permission, or tell the user what you"
    " would need."
)


def workspace_of(keywords: Mapping[str, Any]) -> Workspace | None:
    """The workspace of the session that calls, or None outside a session."""
    context: ToolContext | None = keywords.get("ctx")
    return None if context is None else context.workspace


def no_session(name: str) -> str:
    """The answer of a tool that is called outside a session."""
    return tool_error(f"{name} needs a session to work in")


async def by_real_names(redact: Redact, workspace: Workspace, paths: Iterable[str]) -> Redact:
    """`redact`, by the names of the files that these paths lead to as well: a link has a name of its own."""
    real = {path: await workspace.real_path(path) for path in paths}
    return lambda path, text: redact(real[path], redact(path, text))


def blocked(refusal: Refused, **fields: Any) -> str:
    """The answer when the decision was no: the reason, and what the model may do instead, unless that is to
    try it again.
    """
    words = str(refusal) if isinstance(refusal, Outdated) else f"{refusal} {INSTEAD}"
    return tool_error(words, **fields, status="blocked")


def lint(path: str, before: str | None, after: str) -> dict[str, str]:
    """The lint part of a result: `ok`, `error` with what is wrong, or `skipped`."""
    found = fault(path, after)
    if found is None:
        return {"status": "skipped", "message": "no check for this kind of file"}
    if not found:
        return {"status": "ok", "output": ""}
    if before is not None and fault(path, before):
        return {"status": "error", "output": found, "message": "the file had a fault before this change, too"}
    return {"status": "error", "output": found}
