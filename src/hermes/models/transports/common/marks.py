"""Requests in which no text is read as a mark between speakers: only the model's template writes these."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

_READ: Final = ("messages", "tools")
"""What of a request the template has the model read."""
_TEXTS: Final = frozenset({"content", "text", "reasoning_content", "arguments", "description"})
_WORD: Final = re.compile(r"[\w-]+", re.ASCII)


def without_marks(body: bytes, marks: Sequence[str]) -> bytes:
    """A chat's body of JSON with a space in each of these marks that a text in it has: it reads the same, and
    is no longer one token.
    """
    if not marks:
        return body
    found = _known(tuple(marks))
    tree = msgspec.json.decode(body)
    return msgspec.json.encode(tree | {name: _opened(tree[name], found) for name in _READ if name in tree})


class _Marks:
    """Marks that are found in a text however many there are."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = frozenset(marks)
        self._lengths: dict[str, set[int]] = {}
        for mark in marks:
            self._lengths.setdefault(mark[0], set()).add(len(mark))
        self._first = re.compile(f"[{re.escape(''.join(self._lengths))}]")

    def opened(self, text: str) -> str:
        """The text with a space behind the first letter of each."""
        return self._first.sub(self._letter, text)

    def _letter(self, found: re.Match[str]) -> str:
        text, start = found.string, found.start()
        is_mark = any(text[start : start + length] in self._marks for length in self._lengths[found[0]])
        return f"{found[0]} " if is_mark else found[0]


_known = lru_cache(maxsize=8)(_Marks)


def _opened(tree: Any, marks: _Marks) -> Any:
    """A tree of JSON with the marks of its texts opened; what the wire calls its own parts stays as it is."""
    if isinstance(tree, dict):
        return {
            _name(key, marks): marks.opened(item)
            if key in _TEXTS and isinstance(item, str)
            else _opened(item, marks)
            for key, item in tree.items()
        }
    if isinstance(tree, list):
        return [_opened(item, marks) for item in tree]
    return _name(tree, marks) if isinstance(tree, str) else tree


def _name(text: str, marks: _Marks) -> str:
    """A key or a value that is no text as such; one plain word is a name of the wire or of a tool."""
    return text if _WORD.fullmatch(text) else marks.opened(text)
