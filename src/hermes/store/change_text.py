"""What has changed in some files, as one diff that is short enough to look at."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from hermes.lib.edit.diff import unified
from hermes.lib.visible import one_line, spelled_out
from hermes.store.snapshot import Entry, Tree
from hermes.store.tree_diff import described, is_folder
from hermes.types.error import StoreError

_LARGEST: Final = 200_000
"""Characters of a file, before and after together, that are compared line by line."""
_REDACTED: Final = 2_000_000
"""Characters that are looked through for secrets: a second. Files after them are told by their size."""
_COMPARED: Final = 10_000
"""As many lines of it: two seconds more are gone with five times as many, in no order."""
_LINES: Final = 1_000
_CHARACTERS: Final = 50_000
_NAMED: Final = 100

Read = Callable[[Entry], bytes]
Redact = Callable[[str, str], str]
Text = Callable[[str, Entry], str | None]


def change_text(old: Tree, new: Tree, read: Read, redact: Redact) -> str:
    """The change from one tree to another, files that were there first; `read` gives the bytes of a file,
    StoreError where nobody has them, `redact` the text of a path without secrets: those of several lines are
    none in a diff.

    One line, such as `a.txt: +3 −12`, has a file that was removed or renamed, is long or no text, or comes
    after a thousand lines of the change; after a hundred files, one says how many more there are.
    """
    moved = _moved(old, new)
    paths = [path for path in {**old, **new} if not is_folder(old.get(path), new.get(path))]
    paths = [path for path in paths if path not in moved.values()]
    paths.sort(key=lambda path: (path not in old, path))
    parts, room = list[str](), _CHARACTERS

    left = _REDACTED

    def text(path: str, entry: Entry) -> str | None:
        nonlocal left
        found = _text(entry, read)
        if found is None or len(found) > _LARGEST:
            return found  # so long a text is counted, never shown
        left -= len(found)
        return redact(path, found) if left > 0 else None

    for path in paths[:_NAMED]:
        if path in moved:
            part = f"{one_line(path)}: renamed to {one_line(moved[path])}\n"
        else:
            part = _change(path, (old.get(path), new.get(path)), text, room)
        room -= len(part)
        parts.append(part)
    rest = len(paths) - _NAMED
    return "".join([*parts, f"… {rest} more files\n" if rest > 0 else ""])


def _moved(old: Tree, new: Tree) -> Mapping[str, str]:
    """Where files went that are gone, as far as their content came elsewhere."""
    came = {one.content: path for path, one in new.items() if path not in old and one.kind == "file"}
    gone = sorted(path for path, one in old.items() if path not in new and one.size)
    return {path: came.pop(old[path].content) for path in gone if old[path].content in came}


def _change(path: str, change: tuple[Entry | None, Entry | None], text: Text, room: int) -> str:
    name, (before, after) = one_line(path), change
    mode = ""
    if before and after and before.kind == after.kind and before.mode != after.mode:
        mode = f"{name}: mode {before.mode:o} → {after.mode:o}\n"
    if mode and before and after and before.content == after.content:
        return mode
    with suppress(StoreError):
        texts = [text(path, one) if one else None for one in change]
        are_texts = all(found is not None or one is None for one, found in zip(change, texts, strict=True))
        if are_texts and (compared := _compared(name, texts[0], texts[1], room)):
            return mode + compared
    return f"{mode}{name}: {_words(before, after)}\n"


def _words(before: Entry | None, after: Entry | None) -> str:
    for one in (after, before):
        if one is not None and one.kind == "out":
            return f"changed ({one.content.decode()})"
    return f"{described(before)} → {described(after)}"


def _compared(name: str, before: str | None, after: str | None, room: int) -> str:
    """The diff of two texts ("" where they are the same), or how many lines came and went: that is quicker,
    and does not see what only moved.
    """
    whole = (before or "") + (after or "")
    if after is not None and len(whole) <= _LARGEST and whole.count("\n") <= _COMPARED:
        old_text, new_text = _same_ends(before, after)
        diff = unified(old_text and spelled_out(old_text), spelled_out(new_text), name)
        if len(diff) <= room and diff.count("\n") <= _LINES:
            return diff
    old, new = Counter((before or "").splitlines()), Counter((after or "").splitlines())
    removed = " (deleted)" if after is None else ""
    return f"{name}: +{(new - old).total()} −{(old - new).total()}{removed}\n"


def _same_ends(before: str | None, after: str) -> tuple[str | None, str]:
    """Both texts without the carriage returns of their line ends, where both have them."""
    if before is None or ("\r\n" in before) == ("\r\n" in after):
        return before and before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    return before, after


def _text(entry: Entry, read: Read) -> str | None:
    """The text of a file; None for what is none."""
    if entry.kind != "file":
        return None
    data = read(entry)
    return None if b"\0" in data else data.decode("utf-8", "backslashreplace")
