"""Structured reasoning that comes in pieces and must go back as it was: OpenRouter's `reasoning_details`."""

from collections.abc import Mapping
from typing import Any

_JOINED = ("text", "summary")


class Details:
    """The items of one reply: pieces of one text become one item, what is encrypted stays as it came."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []

    def add(self, given: Any) -> str:
        """Take in the items of one piece of the reply; gives the text in them."""
        told = ""
        for item in given if isinstance(given, list) else ():
            if isinstance(item, Mapping):
                told += "".join(str(item[name]) for name in _JOINED if isinstance(item.get(name), str))
                self._put(item)
        return told

    def opaque(self) -> tuple[Mapping[str, Any], ...]:
        """What a message keeps of it."""
        return ({"reasoning_details": self._items},) if self._items else ()

    def _put(self, item: Mapping[str, Any]) -> None:
        last = self._items[-1] if self._items else {}
        if not any(name in item for name in _JOINED) or any(last.get(name) != item.get(name) for name in ("type", "index")):
            self._items.append(dict(item))
            return
        for name, value in item.items():
            if name in _JOINED and isinstance(last.get(name), str) and isinstance(value, str):
                last[name] += value
            elif value is not None:
                last[name] = value
