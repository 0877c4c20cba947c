"""A text that comes in pieces, on its way through what takes something out of it."""

import re
from collections.abc import Callable
from typing import Protocol


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


class TagFilter:
    """Takes what stands between `<name>` and `</name>` out of a text, and the tags; what is not closed goes
    to the end of the text. A tag behind a backtick is spoken of, and stays.
    """

    def __init__(self, name: str) -> None:
        self._tag, close = f"<{name}>", f"</{name}>"
        self._open = re.compile(f"(?<!`)<{re.escape(name)}>", re.IGNORECASE)
        self._close = re.compile(re.escape(close), re.IGNORECASE)
        self._undecided = len(close) - 1

    def clean(self, text: str) -> str:
        """A whole text without it."""
        shown, waiting = self.divide(text)
        return shown + self.rest(waiting)

    def passes(self, text: str) -> bool:
        """Whether no tag can be in it or begin there."""
        return "<" not in text and not text.endswith("`")

    def divide(self, text: str) -> tuple[str, str]:
        """What of the text stands outside, and what may be the beginning of a tag, or is open."""
        shown, at = [], 0
        if "<" in text:
            while found := self._open.search(text, at):
                shown.append(text[at : found.start()])
                end = self._close.search(text, found.end())
                if end is None:
                    return "".join(shown), self._tag + text[found.end() :][-self._undecided :]
                at = end.end()
        cut = self._beginning(text, at)
        return "".join(shown) + text[at:cut], text[cut:]

    def rest(self, waiting: str) -> str:
        """The beginning of a tag that did not become one."""
        return "" if self._open.match(waiting) else waiting

    def _beginning(self, text: str, first: int) -> int:
        """Where what may begin a tag begins, at the end of a text: such a beginning, or a backtick."""
        at = max(first, text.rfind("<"), len(text) - 1 if text.endswith("`") else 0)
        held = text[at:]
        if held == "`":
            return at
        spoken_of = at > 0 and text[at - 1] == "`"
        begins = held and not spoken_of and self._tag.startswith(held.lower())
        return at if begins else len(text)
