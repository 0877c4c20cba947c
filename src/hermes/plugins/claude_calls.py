"""What calls of our tools are called in the hooks of Claude Code: one of ours may be several there."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.edit.v4a import BadPatch, FileChange, parse
from hermes.tools.dispatch import is_failure

Absolute = Callable[[str], str]
"""The absolute path that a tool means by one."""
Arguments = Mapping[str, Any]


class ClaudeCall(Struct, frozen=True, kw_only=True):
    """A call as such hooks know it: the names that it has there, the first of them the usual one, and its
    arguments, beside those that it has here.
    """

    names: tuple[str, ...]
    arguments: dict[str, Any]

    def named(self, name: str) -> str:
        """What a command is told that the tool is called which it knows by this name: by ours only where it
        has no other.
        """
        return self.names[0] if name == self.names[-1] else name

    @property
    def path(self) -> str:
        """The file that it is about; "" where it is about none."""
        return str(self.arguments.get("file_path", ""))

    def about(self, path: str) -> "ClaudeCall":
        """The same for another file."""
        return replace(self, arguments={**self.arguments, "file_path": path})


def calls_of(tool: str, args: Arguments, absolute: Absolute) -> list[ClaudeCall]:
    """What a call of ours is there: a call for each file, page or task; one under its own name where there is
    nothing like it.
    """
    found = [*_FORMS[tool](args, absolute)] if tool in _FORMS else []
    return [
        ClaudeCall(names=(*names, tool), arguments={**args, **given}) for names, given in found or [((), {})]
    ]


def names_there() -> frozenset[str]:
    """The names that calls of our tools have there."""
    found = (
        calls_of(tool, {"path": "a", "data": "a", "target": target}, str)
        for tool in _FORMS
        for target in ("files", "content")
    )
    return frozenset(name for calls in found for one in calls for name in one.names[:-1])


def response_of(call: ClaudeCall, result: str) -> Any:
    """What a call has given, with what such hooks look for beside our own words."""
    try:
        ours = msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return result
    if not isinstance(ours, dict):
        return ours
    if call.path:
        return {**ours, "filePath": call.path, "success": not is_failure(result)}
    if "Bash" in call.names:
        return {**ours, "stdout": str(ours.get("output", "")), "stderr": "", "interrupted": False}
    return ours


def with_words(result: str, words: str) -> str:
    """A result with words for the model."""
    try:
        ours = msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeEncodeError):
        ours = None
    if not isinstance(ours, dict):
        return f"{result}\n\n[hook] {words}"
    return msgspec.json.encode({**ours, "hook": words}).decode()


_Form = tuple[tuple[str, ...], dict[str, Any]]
_EDIT: Final = ("Edit", "MultiEdit")
_TEXT: Final = ("Write",)


def _bash(args: Arguments, _: Absolute) -> Iterator[_Form]:
    yield ("Bash",), {"command": _text(args, "command"), "run_in_background": bool(args.get("background"))}


def _code(args: Arguments, _: Absolute) -> Iterator[_Form]:
    """A script may do what a command may, so that those who look at commands look at it."""
    yield ("Bash",), {"command": _text(args, "code")}


def _input(args: Arguments, _: Absolute) -> Iterator[_Form]:
    """What a program is given to read may be a command."""
    if data := _text(args, "data"):
        yield ("Bash",), {"command": data}


def _read(args: Arguments, absolute: Absolute) -> Iterator[_Form]:
    yield ("Read",), {"file_path": absolute(_text(args, "path"))}


def _write(args: Arguments, absolute: Absolute) -> Iterator[_Form]:
    yield _TEXT, {"file_path": absolute(_text(args, "path")), "content": _text(args, "content")}


def _edit(args: Arguments, absolute: Absolute) -> Iterator[_Form]:
    if path := _text(args, "path"):
        edits = [{"old_string": _text(args, "old_string"), "new_string": _text(args, "new_string")}]
        yield _EDIT, {"file_path": absolute(path), **edits[0], "edits": edits}
    try:
        changes = parse(_text(args, "patch")) if args.get("patch") else ()
    except BadPatch:  # the tool says so, and changes nothing
        return
    for change in changes:
        yield from _changed(change, absolute)


def _changed(change: FileChange, absolute: Absolute) -> Iterator[_Form]:
    path = absolute(change.path)
    if change.kind == "add":
        yield _TEXT, {"file_path": path, "content": change.text}
        return
    edits = [{"old_string": _lines(one.old), "new_string": _lines(one.new)} for one in change.hunks]
    whole = {key: "\n".join(one[key] for one in edits) for key in ("old_string", "new_string")}
    for one in filter(None, (path, change.to and absolute(change.to))):
        yield _EDIT, {"file_path": one, **whole, "edits": edits}
    if change.to:  # there is a file that was not there
        yield _TEXT, {"file_path": absolute(change.to), "content": whole["new_string"]}


def _lines(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def _search(args: Arguments, absolute: Absolute) -> Iterator[_Form]:
    name = "Glob" if args.get("target") == "files" else "Grep"
    yield (name,), {"path": absolute(_text(args, "path") or "."), "glob": _text(args, "file_glob")}


def _web_search(args: Arguments, _: Absolute) -> Iterator[_Form]:
    yield ("WebSearch",), {"query": _text(args, "query")}


def _fetch(args: Arguments, _: Absolute) -> Iterator[_Form]:
    urls = args.get("urls")
    for url in urls if isinstance(urls, list) else [args.get("url", urls)]:
        yield ("WebFetch",), {"url": str(url), "prompt": ""}


def _delegate(args: Arguments, _: Absolute) -> Iterator[_Form]:
    tasks = args.get("tasks")
    for task in tasks if isinstance(tasks, list) and tasks else [args]:
        given = task if isinstance(task, Mapping) else {"goal": str(task)}
        goal = _text(given, "goal")
        prompt = "\n\n".join(filter(None, (goal, _text(given, "context"))))
        yield ("Task", "Agent"), {"description": goal[:80], "prompt": prompt, "subagent_type": ""}


def _todo(_: Arguments, __: Absolute) -> Iterator[_Form]:
    yield ("TodoWrite",), {}


def _text(args: Arguments, name: str) -> str:
    value = args.get(name)
    return "" if value is None else str(value)


_FORMS: Final[Mapping[str, Callable[[Arguments, Absolute], Iterator[_Form]]]] = {
    "terminal": _bash,
    "execute_code": _code,
    "process": _input,
    "read_file": _read,
    "write_file": _write,
    "patch": _edit,
    "search_files": _search,
    "web_search": _web_search,
    "web_extract": _fetch,
    "delegate_task": _delegate,
    "todo": _todo,
}


def absolute_from(cwd: Callable[[], str]) -> Absolute:
    """Makes paths absolute as the file tools do: by their words, without looking at what is there."""

    def absolute(path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = f"{Path.home()}{path[1:]}"
        return os.path.normpath(path if path.startswith("/") else f"{cwd()}/{path}")

    return absolute
