"""A text that comes in pieces, on its way through what takes something out of it."""

import re
from collections.abc import Callable
from typing import Final, Protocol

from hermes.lib.text import escape_begun, for_terminal

DEEPEST: Final = 64
"""Tags within tags that are counted."""


class TextFilter(Protocol):
    """Takes something out of a text of which only the beginning may be there yet."""

    def passes(self, text: str) -> bool:
        """Whether a quick look tells that all of it can be shown now."""

    def divide(self, text: str) -> tuple[str, str]:
        """What of the text can be shown now, and what has to wait for what follows; the second stands before
        it when it comes.
        """

    def rest(self, waiting: str) -> str:
        """What of the text that waits can be shown because nothing follows."""


class TextStream:
    """Shows a text as it comes, through a filter: the same text however it is cut into pieces."""

    def __init__(self, through: TextFilter, show: Callable[[str], object]) -> None:
        self._filter, self._show = through, show
        self._kept = ""

    def add(self, text: str) -> None:
        """More of the text."""
        if self._kept or not self._filter.passes(text):
            text, self._kept = self._filter.divide(self._kept + text)
        if text:
            self._show(text)

    def end(self) -> None:
        """Nothing follows."""
        if not self._kept:
            return
        text = self.waiting
        self._kept = ""
        if text:
            self._show(text)

    @property
    def waiting(self) -> str:
        """What would be shown if nothing followed."""
        return self._filter.rest(self._kept)

    def forget(self) -> None:
        """Show nothing of what waits."""
        self._kept = ""


class EscapeFilter:
    """Takes out of a text what a terminal may not get (`for_terminal`), that too which pieces cut."""

    def passes(self, text: str) -> bool:
        """Whether none is in it."""
        return text.isprintable()

    def divide(self, text: str) -> tuple[str, str]:
        """The text without them, and one that is not whole yet."""
        at = escape_begun(text)
        return for_terminal(text), text[at:]

    def rest(self, waiting: str) -> str:
        """Nothing: what was begun is none of the text."""
        del waiting
        return ""


class TagFilter:
    """Takes what stands between `<name>` and `</name>` out of a text, and the tags, until none is left: tags
    within tags, and those that come about where something was taken out. What is not closed goes to the end
    of the text. A tag behind a backtick is spoken of, and stays.
    """

    def __init__(self, name: str) -> None:
        self._tags = (f"<{name}>", f"</{name}>")
        opening = rf"(?<!`)<\s*{re.escape(name)}\s*>"
        self._open = re.compile(opening, re.IGNORECASE)
        self._any = re.compile(rf"{opening}|(?P<close><\s*/\s*{re.escape(name)}\s*>)", re.IGNORECASE)

    def clean(self, text: str) -> str:
        """A whole text without it."""
        shown, waiting = self.divide(text)
        return shown + self.rest(waiting)

    def passes(self, text: str) -> bool:
        """Whether no tag can be in it or begin there."""
        return "<" not in text and not text.endswith("`")

    def divide(self, text: str) -> tuple[str, str]:
        """What of the text stands outside, and what may be the beginning of a tag, or is open."""
        shown, at = list[str](), 0
        while found := self._open.search(text, at):
            before = text[at : found.start()]
            cut = self._outside(before)
            shown.append(before[:cut])
            end, depth = self._end(text, found.end())
            if depth:
                inside = text[end:]
                left = inside[max(0, self._beginning(inside, self._tags) - 1) :]
                return "".join(shown), before[cut:] + self._tags[0] * depth + left
            if cut == len(before):
                at = end
            else:  # what was taken out may have parted a tag
                text, at = before[cut:] + text[end:], 0
        cut = at + self._outside(text[at:])
        return "".join(shown) + text[at:cut], text[cut:]

    def rest(self, waiting: str) -> str:
        """The beginning of a tag that did not become one."""
        found = self._open.search(waiting)
        return waiting[: found.start()] if found else waiting

    def _end(self, text: str, at: int) -> tuple[int, int]:
        """Where what was opened before a place ends, or the last tag where it does not, and how many are open
        there.
        """
        depth = 1
        for found in self._any.finditer(text, at):
            depth = depth - 1 if found["close"] else min(depth + 1, DEEPEST)
            at = found.end()
            if not depth:
                break
        return at, depth

    def _beginning(self, text: str, tags: tuple[str, ...]) -> int:
        """Where the beginning of one of the tags, or a backtick, begins at the end of a text."""
        if text.endswith("`"):
            return len(text) - 1
        at = text.rfind("<")
        return at if at >= 0 and _may_be(text[at:], tags) else len(text)

    def _outside(self, text: str) -> int:
        """The same outside of all tags, where only one that opens is looked for: there may be several
        beginnings, of which an earlier one goes on where what follows it is taken out.
        """
        end = len(text)
        if text.endswith("`"):
            return end - 1
        while (at := text.rfind("<", 0, end)) >= 0 and _may_be(text[at:end], self._tags[:1]):
            if at and text[at - 1] == "`":
                break
            end = at
        return end


def _may_be(text: str, tags: tuple[str, ...]) -> bool:
    """Whether a text may be the beginning of one of the tags, which may have spaces in them."""
    begun = "".join(text.split()).lower()
    return any(one.startswith(begun) for one in tags)
