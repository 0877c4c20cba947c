"""The patch tool: change part of a file, or several files at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.edit.cascade import NoMatch, replace_text
from hermes.lib.edit.diff import Redact, moved, readable, unified
from hermes.lib.edit.textfile import Form, decode, encode, is_binary
from hermes.lib.edit.v4a import BadPatch, FileChange, apply, parse
from hermes.lib.text import mend_surrogates
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, by_real_names, lint, no_session, workspace_of
from hermes.types.error import Refused
from hermes.types.tool import ToolManifest
from hermes.types.workspace import FileEdit, Workspace


class _Edit(Struct, frozen=True, kw_only=True):
    """What will become of one path: None stands for no file, before or after. `source` is the edit that takes
    away the file from where it came here.
    """

    path: str
    before: str | None
    after: str | None
    form: Form
    source: "_Edit | None" = None


async def patch(args: Mapping[str, Any], **keywords: Any) -> str:
    """Change files and give the unified diff of what was changed."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("patch")
    mode, redact = args.get("mode") or "replace", keywords["ctx"].redact
    try:
        if mode == "replace":
            return await _replace(workspace, args, redact)
        if mode == "patch":
            text = str(args.get("patch") or "")
            if not text.strip():
                return tool_error("mode patch needs patch", success=False)
            edits = [edit for change in parse(text) for edit in await _edits(workspace, change)]
            return _result(*await _carry_out(workspace, edits, redact), edits, {})
    except Refused as refusal:
        return blocked(refusal, success=False)
    except (NoMatch, BadPatch) as error:
        return tool_error(str(error), success=False)
    except OSError as error:
        return tool_error(f"{error.filename or 'The file'}: {error.strerror or error}", success=False)
    return tool_error("mode must be replace or patch", success=False)


async def _replace(workspace: Workspace, args: Mapping[str, Any], redact: Redact) -> str:
    path, old, new = args.get("path"), args.get("old_string"), args.get("new_string")
    if not (isinstance(path, str) and path and isinstance(old, str) and isinstance(new, str)):
        return tool_error("mode replace needs path, old_string and new_string", success=False)
    text, form = await _text(workspace, path)
    plain_old, plain_new = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n")) if form.crlf else (old, new)
    done = replace_text(text, plain_old, plain_new, every=bool(args.get("replace_all")))
    edit = _Edit(path=path, before=text, after=done.text, form=form)
    more = {} if done.rule == "exact" else {"matched_by": done.rule}
    return _result(*await _carry_out(workspace, [edit], redact), [edit], more)


async def _edits(workspace: Workspace, change: FileChange) -> list[_Edit]:
    """What one part of a patch comes to, checked against the files as they are."""
    if change.kind == "add":
        await _must_be_free(workspace, change.path)
        return [_Edit(path=change.path, before=None, after=change.text, form=Form())]
    before, form = await _text(workspace, change.path)
    if change.kind == "delete":
        return [_Edit(path=change.path, before=before, after=None, form=form)]
    after = apply(before, change)
    if not change.to:
        return [_Edit(path=change.path, before=before, after=after, form=form)]
    await _must_be_free(workspace, change.to)
    gone = _Edit(path=change.path, before=before, after=None, form=form)
    return [_Edit(path=change.to, before=None, after=after, form=form, source=gone), gone]


async def _must_be_free(workspace: Workspace, path: str) -> None:
    if await workspace.stat(path) is not None:
        raise BadPatch(f"{path} exists already; use *** Update File")


async def _text(workspace: Workspace, path: str) -> tuple[str, Form]:
    try:
        data = await workspace.read(path)
    except FileNotFoundError as error:
        raise BadPatch(f"{path} was not found") from error
    if is_binary(data):
        raise BadPatch(f"{path} is binary, not text")
    return decode(data)


async def _carry_out(workspace: Workspace, edits: Sequence[_Edit], redact: Redact) -> tuple[list[str], str]:
    """Apply all edits, or, when one of them fails, none: what was done before is put back.

    Gives the absolute paths and the diff.
    """
    done: list[_Edit] = []
    paths = []
    redact = await by_real_names(redact, workspace, [edit.path for edit in edits])
    whole = await anyio.to_thread.run_sync(_diff, edits, redact)
    diff = readable(whole)
    try:
        for edit in edits:
            paths.append(await _put(workspace, edit, diff))
            done.append(edit)
    except (Refused, OSError):
        for edit in reversed(done):
            await _put(workspace, replace(edit, before=edit.after, after=edit.before), diff)
        raise
    return paths, whole


async def _put(workspace: Workspace, one: _Edit, diff: str) -> str:
    edit = FileEdit(diff=diff, was=None if one.before is None else encode(one.before, one.form))
    if one.after is not None:
        return (await workspace.write(one.path, encode(one.after, one.form), edit=edit)).path
    found = await workspace.stat(one.path)
    await workspace.delete(one.path, edit=edit)
    return found.path if found else one.path


def _diff(edits: Sequence[_Edit], redact: Redact) -> str:
    sources = [edit.source for edit in edits]
    return "".join(_shown(edit, redact) for edit in edits if edit not in sources)


def _shown(edit: _Edit, redact: Redact) -> str:
    gone = edit.source
    if gone is None:
        return unified(edit.before, edit.after, edit.path, redact)
    return moved(gone.before or "", edit.after or "", gone.path, edit.path, redact)


def _result(paths: Sequence[str], diff: str, edits: Sequence[_Edit], more: Mapping[str, str]) -> str:
    checks = [
        lint(edit.path, edit.before, edit.after) | {"path": edit.path}
        for edit in edits
        if edit.after is not None
    ]
    worst = next(
        (check for check in checks if check["status"] == "error"),
        checks[0] if checks else {"status": "skipped"},
    )
    if len(edits) == 1:
        worst.pop("path", None)
    return tool_result(
        success=True,
        diff=mend_surrogates(diff),
        files_modified=list(paths),
        lint=worst,
        resolved_path=paths[0],
        **more,
    )


registry.register(
    name="patch",
    toolset="file",
    schema={
        "name": "patch",
        "description": (
            "Change files. mode=replace: put new_string for old_string in path; it must fit one place."
            " mode=patch: a V4A patch over several files (*** Begin Patch, *** Add/Update/Delete File: path,"
            " *** Move to: path, @@ place, lines starting with space, - or +, *** End Patch). Gives the diff."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_string": {
                    "type": "string",
                    "description": "Text as it is in the file, with lines around it if it is there twice",
                },
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean", "default": False},
                "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace"},
                "patch": {"type": "string"},
            },
        },
    },
    handler=patch,
    is_async=True,
    emoji="🔧",
    max_result_size_chars=100_000,
    manifest=ToolManifest(
        effects=("files",), parallel="by_path", paths=("path",), patch="patch", workspace=True
    ),
)
