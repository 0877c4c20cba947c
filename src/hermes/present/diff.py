"""A unified diff as a numbered one, short enough to read in passing."""

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from hermes.lib.text import strip_escapes
from hermes.present.spans import MORE_BY_KEY, Line, Span, cut, line

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<olds>\d+))? \+(?P<new>\d+)(?:,(?P<news>\d+))? @@")
_COUNT = re.compile(r": \+(?P<added>\d+) −(?P<removed>\d+)(?: \(deleted\))?$")
_LONGEST = 20
_NONE = "/dev/null"
_MOVED = "moved"
_HEADS = ("--- ", "+++ ", "rename from ", "rename to ")
_LISTED = 8


class Change(Struct, frozen=True, kw_only=True):
    """What a diff does: lines added and removed, and the rows to show."""

    added: int
    removed: int
    rows: tuple[Line, ...]

    @property
    def count(self) -> str:
        """The change in short, such as `+2 −1`."""
        return _count(self.added, self.removed)


class _File(Struct, kw_only=True):
    """The part of a diff that is of one file; `became` says what it became where it did not just change,
    `words` is what the diff says of one without lines.
    """

    name: str
    became: str = ""
    words: str = ""
    added: int = 0
    removed: int = 0
    rows: list[Line] = field(default_factory=list)

    @property
    def head(self) -> Line:
        told = f" ({self.became})" if self.became else ""
        return line(self.words or f"{self.name} {_count(self.added, self.removed)}{told}", "dim")


class _Head(Struct):
    """The lines before those of a file: what it was called, and is where it has got another name."""

    former: str = ""
    moved: str = ""

    def file(self, text: str) -> str:
        """The name of the file that begins with this line, and in a line of its own what it became; "" where
        none begins.
        """
        if text.startswith(("--- ", "rename from ")):
            self.former = text.removeprefix("rename from ").removeprefix("--- a/").removeprefix("--- ")
            return ""
        if text.startswith("rename to "):
            self.moved = text.removeprefix("rename to ")
            return f"{self.former} → {self.moved}\n{_MOVED}"
        name = text.removeprefix("+++ ").removeprefix("b/")
        is_told, self.moved = name == self.moved, ""
        return "" if is_told else self._changed(name)

    def _changed(self, name: str) -> str:
        if name == _NONE:
            return f"{self.former}\ndeleted"
        return f"{name}\n{'added' if self.former == _NONE else ''}"


def files_changed(diff: str) -> str:
    """How many files a diff changes, and what becomes of them: `3 files: 1 added, 2 changed`; "" for one
    that has the same name after it.
    """
    files = list(_files(diff, 0))
    if len(files) < 2 and not any(one.became == _MOVED for one in files):
        return ""
    counts = Counter(one.became or "changed" for one in files)
    told = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    return f"{len(files)} {'file' if len(files) == 1 else 'files'}: {told}"


def change(diff: str, width: int, *, longest: int = _LONGEST, named: bool = False) -> Change:
    """A unified diff with line numbers: at most `longest` rows of `width` cells, then how many more there
    are, and the files that have none of these rows. One file alone has its name only where it is `named`, or
    has got another one.
    """
    files = list(_files(diff, width))
    heads = named or len(files) > 1 or any(one.became == _MOVED for one in files)
    rows, hidden, listed = list[Line](), 0, list[_File]()
    for file in files:
        own = [*([cut(file.head, width)] if heads else []), *file.rows]
        room = longest - len(rows)
        if room <= heads and own:
            listed.append(file)
            continue
        fits = len(own) if len(own) <= room else room - 1
        rows += own[:fits]
        hidden += len(own) - fits
    if hidden:
        rows.append((Span(f"… {hidden} more lines of the change", "dim"), MORE_BY_KEY))
    rows += [cut(file.head, width) for file in listed[:_LISTED]]
    if len(listed) > _LISTED:
        rows.append((Span(f"… {len(listed) - _LISTED} more files", "dim"), MORE_BY_KEY))
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    return Change(added=added, removed=removed, rows=tuple(rows))


def _count(added: int, removed: int) -> str:
    return f"+{added} −{removed}"


def _files(diff: str, width: int) -> Iterator[_File]:
    """The files of a diff, each with its numbered rows."""
    file: _File | None = None
    for number, mark, text in _numbered(diff):
        if mark in {"file", "words"} or file is None:
            if file is not None:
                yield file
            file = _noted(text) if mark == "words" else _File(name="")
            if mark == "file":
                file.name, file.became = text.rsplit("\n", 1)
            if mark in {"file", "words"}:
                continue
        file.added += mark == "+"
        file.removed += mark == "-"
        file.rows.append(line("      ⋯", "dim") if mark == "gap" else _row(number, mark, text, width))
    if file is not None:
        yield file


def _noted(words: str) -> _File:
    """A file of which a diff only has words, such as `a.txt: +3 −12`."""
    found = _COUNT.search(words)
    counts = (int(found["added"]), int(found["removed"])) if found else (0, 0)
    return _File(
        name=words,
        became="deleted" if words.endswith(" (deleted)") else "",
        words=words.replace(": +", " +", 1) if found else words,
        added=counts[0],
        removed=counts[1],
    )


def _row(number: int, mark: str, text: str, width: int) -> Line:
    role = {"+": "added", "-": "removed"}.get(mark, "dim")
    return cut((Span(f"{number:>4} ", "dim"), Span(f"{mark} {text}".rstrip(), role)), width)


def _numbered(diff: str) -> Iterator[tuple[int, str, str]]:
    """Each line as number, mark and text; `file` (its name, and in a line of its own what it became), `gap`
    and `words` mark what is not a line of a file.
    """
    old = new = old_left = new_left = 0
    head, first = _Head(), True
    for text in strip_escapes(diff).expandtabs(4).splitlines():
        if text.startswith("\\"):  # that no line end follows
            continue
        if old_left > 0 or new_left > 0:
            mark = text[:1] if text[:1] in {"+", "-"} else " "
            yield (old if mark == "-" else new, mark, text[1:])
            old, old_left = (old, old_left) if mark == "+" else (old + 1, old_left - 1)
            new, new_left = (new, new_left) if mark == "-" else (new + 1, new_left - 1)
        elif hunk := _HUNK.match(text):
            if not first:
                yield (0, "gap", "")
            first = False
            old, new = int(hunk["old"]), int(hunk["new"])
            old_left, new_left = int(hunk["olds"] or 1), int(hunk["news"] or 1)
        elif text.startswith(_HEADS):
            if file := head.file(text):
                first = True
                yield (0, "file", file)
        elif ": " in text or text.startswith("…"):  # git's own heads have neither
            yield (0, "words", text)
