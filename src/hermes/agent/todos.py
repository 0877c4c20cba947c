"""The session's plan, read from the log's own tool results when a session is resumed."""

import json
from collections.abc import Iterable

from hermes.types.message import Message, ToolResult


class Todos:
    """Items with id, content and status, in order."""

    def __init__(self, items: Iterable[dict[str, str]] = ()) -> None:
        self._items = list(items)

    def read(self) -> list[dict[str, str]]:
        """A copy of the items."""
        return [dict(item) for item in self._items]

    def write(self, items: list[dict[str, str]], *, merge: bool) -> list[dict[str, str]]:
        """Replace all, or with `merge` change those with a known id and append the rest."""
        if not merge:
            self._items = [dict(item) for item in items]
            return self.read()
        by_id = {item["id"]: item for item in self._items}
        for item in items:
            by_id[item["id"]] = {**by_id.get(item["id"], {}), **item}
        self._items = list(by_id.values())
        return self.read()


def from_log(messages: Iterable[Message]) -> Todos:
    """The plan as the last `todo` result in the log left it."""
    last = next(
        (
            item
            for item in reversed(tuple(messages))
            if isinstance(item, ToolResult) and item.name == "todo" and not item.failed
        ),
        None,
    )
    return Todos(json.loads(last.content).get("todos", []) if last else ())
