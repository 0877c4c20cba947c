"""Two snapshots as one unified diff."""

import os
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from typing import Final

from hermes.lib.visible import one_line, visible
from hermes.store.snapshot import Entry, Tree

_LARGEST: Final = 500_000
_NONE: Final = "/dev/null"


def tree_diff(
    old: Tree, new: Tree, read: Callable[[Entry], bytes], redact: Callable[[str, str], str]
) -> Iterator[str]:
    """The lines of a diff from one tree to another; `read` gives the bytes of a file, `redact` the text of a
    path without secrets.

    Of what is not text, and of large files, one line says that they differ.
    """
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before != after and not is_folder(before, after):
            texts = [_lines(path, one, read, redact) for one in (before, after)]
            yield from _file(one_line(path), before, after, texts)


def is_folder(before: Entry | None, after: Entry | None) -> bool:
    """Whether a path is at most a folder, before and after."""
    return all(one is None or one.kind == "folder" for one in (before, after))


def _file(
    name: str, before: Entry | None, after: Entry | None, texts: Sequence[list[str] | None]
) -> Iterator[str]:
    if before and after and before.kind == after.kind and before.mode != after.mode:
        yield f"{name}: mode {before.mode:o} → {after.mode:o}"
    if before and after and (before.kind, before.content) == (after.kind, after.content):
        return
    if texts[0] is None or texts[1] is None:
        yield f"{name}: {described(before)} → {described(after)}"
        return
    labels = (f"a/{name}" if before else _NONE, f"b/{name}" if after else _NONE)
    lines = list(unified_diff(texts[0], texts[1], *labels, lineterm=""))
    yield from lines or [f"{name}: {described(before)} → {described(after)}"]


def _lines(
    path: str, entry: Entry | None, read: Callable[[Entry], bytes], redact: Callable[[str, str], str]
) -> list[str] | None:
    """The lines of a file without secrets; None for what is none, or is not compared line by line."""
    if entry is None:
        return []
    if entry.kind != "file" or entry.size > _LARGEST:
        return None
    data = read(entry)
    text = None if b"\0" in data else data.decode("utf-8", "backslashreplace")
    return None if text is None else visible(redact(path, text)).splitlines()


def described(entry: Entry | None) -> str:
    """What is at a path, in a few words."""
    match entry:
        case None:
            return "nothing"
        case Entry(kind="link", content=target):
            return f"a link to {one_line(os.fsdecode(target))}"
        case Entry(kind="out", content=why):
            return f"not saved ({why.decode()})"
        case Entry(kind="folder"):
            return "a folder"
    return f"{entry.size} bytes"
