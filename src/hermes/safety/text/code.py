"""Which places of a text are code: there a mark is shown, not used."""

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

_FENCE: Final = re.compile(r" {0,12}(?:[-*>] )?(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_DIRECTIVE: Final = re.compile(r"[ \t]*\.\. [\w-]+::")
_INDENTED: Final = 4
_NONE: Final = 1 << 30
_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_LINE: Final = 400


class CodeMap:
    """The lines of a text that are code: fenced, indented, or behind `::`."""

    def __init__(self, text: str) -> None:
        self._text = text
        lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
        self._kinds = _kinds(lines)

    def holds(self, start: int, end: int) -> bool:
        """Whether a stretch is in code, between backticks of its line, or alone in quotation marks."""
        return self.has_line(start) or self.shows(start, end)

    def shows(self, start: int, end: int) -> bool:
        """The same without indented lines, which are no code in markup."""
        return (
            self._kinds[self._line(start)] == "fenced"
            or self._is_quoted(start, end)
            or self._is_inline(start)
        )

    def has_line(self, at: int) -> bool:
        """Whether the line of a place is code."""
        return bool(self._kinds[self._line(at)])

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _is_quoted(self, start: int, end: int) -> bool:
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        return bool(before) and _QUOTES.get(before) == after

    def _is_inline(self, start: int) -> bool:
        line = self._starts[self._line(start)]
        return self._text.count("`", max(line, start - _LINE), start) % 2 == 1


def _kinds(lines: list[str]) -> list[str]:
    """For each line what makes it code: fenced or indented, or "" where it is none."""
    found: list[str] = []
    fence = ""
    literal = _NONE
    for line in lines:
        mark = _FENCE.match(line)
        bare = line.lstrip()
        indent = len(line) - len(bare) if bare else _INDENTED
        if bare and indent <= literal < _NONE:
            literal = _NONE
        if fence or mark:
            found.append("fenced")
            fence = _fence_after(fence, mark)
            continue
        found.append("indented" if indent >= _INDENTED or literal < _NONE else "")
        if literal == _NONE and (line.rstrip().endswith("::") or _DIRECTIVE.match(line)):
            literal = indent
    return found


def _fence_after(fence: str, mark: re.Match[str] | None) -> str:
    """The fence that is open after a line of code."""
    if not fence:
        return mark["mark"] if mark else ""
    return "" if mark and mark["mark"].startswith(fence) and not mark["rest"].strip() else fence
