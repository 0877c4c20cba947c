"""The session's plan, read from the log's own tool results when a session is resumed."""

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from hermes.types.message import Message, ToolResult


class _Item(Struct):
    id: str
    content: str
    status: str


class _Plan(Struct):
    todos: list[_Item]


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


def last_plan(messages: Sequence[Message]) -> int:
    """The place of the `todo` result that holds the plan as it is; -1 where there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if _is_plan(messages[at])), -1)


def _is_plan(message: Message) -> bool:
    return message.kind == "tool_result" and message.name == "todo" and not message.failed


def from_log(messages: Sequence[Message]) -> Todos:
    """The plan as the last `todo` result in the log left it; none where that is no plan, as an imported log's
    may be.
    """
    at = last_plan(messages)
    if at < 0:
        return Todos()
    try:
        plan = msgspec.json.decode(cast("ToolResult", messages[at]).content, type=_Plan)
    except msgspec.DecodeError:
        return Todos()
    return Todos(msgspec.structs.asdict(item) for item in plan.todos)
