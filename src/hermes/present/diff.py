"""A unified diff as a numbered one, short enough to read in passing."""

import re

from msgspec import Struct

from hermes.lib.text import strip_escapes
from hermes.present.spans import Line, Span, cut, line

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<olds>\d+))? \+(?P<new>\d+)(?:,(?P<news>\d+))? @@")
_LONGEST = 20


class Change(Struct, frozen=True, kw_only=True):
    """What a diff does: lines added and removed, and the rows to show."""

    added: int
    removed: int
    rows: tuple[Line, ...]

    @property
    def count(self) -> str:
        """The change in short, such as `+2 −1`."""
        return f"+{self.added} −{self.removed}"


def change(diff: str, width: int, *, longest: int = _LONGEST) -> Change:
    """A unified diff with line numbers: at most `longest` rows of `width` cells, then how many more there
    are.
    """
    rows: list[Line] = []
    numbered = _numbered(diff)
    files = sum(mark == "file" for _, mark, _ in numbered)
    for number, mark, text in numbered:
        if mark == "file":
            rows += [line(text, "dim")] if files > 1 else []
        elif mark == "gap":
            rows.append(line("      ⋯", "dim"))
        else:
            rows.append(_row(number, mark, text, width))
    added, removed = (sum(mark == sign for _, mark, _ in numbered) for sign in "+-")
    if len(rows) > longest:
        rows = [
            *rows[: longest - 1],
            line(f"… {len(rows) - longest + 1} more lines of the change · Ctrl-O", "dim"),
        ]
    return Change(added=added, removed=removed, rows=tuple(rows))


def _row(number: int, mark: str, text: str, width: int) -> Line:
    role = {"+": "added", "-": "removed"}.get(mark, "dim")
    return cut((Span(f"{number:>4} ", "dim"), Span(f"{mark} {text}".rstrip(), role)), width)


def _numbered(diff: str) -> list[tuple[int, str, str]]:
    """Each line as number, mark and text; `file` and `gap` mark what is not a line of a file."""
    rows: list[tuple[int, str, str]] = []
    old = new = old_left = new_left = 0
    for text in strip_escapes(diff).expandtabs(4).splitlines():
        hunk = _HUNK.match(text)
        if old_left > 0 or new_left > 0:
            mark = text[:1] if text[:1] in {"+", "-"} else " "
            rows.append((old if mark == "-" else new, mark, text[1:]))
            old, old_left = (old, old_left) if mark == "+" else (old + 1, old_left - 1)
            new, new_left = (new, new_left) if mark == "-" else (new + 1, new_left - 1)
        elif hunk:
            rows += [(0, "gap", "")] if rows and rows[-1][1] != "file" else []
            old, new = int(hunk["old"]), int(hunk["new"])
            old_left, new_left = int(hunk["olds"] or 1), int(hunk["news"] or 1)
        elif text.startswith("+++ "):
            rows.append((0, "file", text[4:].removeprefix("b/")))
    return rows
