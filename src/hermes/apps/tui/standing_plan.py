"""The plan of a turn as one list that stands in the live region while the turn works on it."""

from collections.abc import Mapping
from typing import Any, Final

from hermes.present.outcome import outcome
from hermes.present.plan import plan_lines, plan_word
from hermes.present.spans import Line, Span, line
from hermes.types.message import ToolCall, ToolResult

_OPEN: Final = {"pending", "in_progress"}
_INDENT: Final = 6


class StandingPlan:
    """The items as they were last told; they go to the scrollback once, when nothing of them is left to do
    or the turn ends.
    """

    def __init__(self) -> None:
        self._items: tuple[Mapping[str, Any], ...] = ()

    def take(self, call: ToolCall, result: ToolResult, width: int) -> list[Line]:
        """Note what a call has made of the plan; its rows, where it is done with."""
        told = outcome(call, result).plan
        if told:
            self._items = told
        if any(one["status"] in _OPEN for one in self._items):
            return []
        return self._leave(width)

    def end(self, width: int) -> list[Line]:
        """The turn is over: how far the plan came, if it is not done."""
        if not self._items:
            return []
        head = line(f"plan · {plan_word(self._items)}", "strong")
        return [head, *self._leave(width)]

    def lines(self, width: int, height: int) -> list[Line]:
        """How far it is, and its items, in half of the height at most."""
        if not self._items:
            return []
        head = line(f"plan · {plan_word(self._items)}", "strong")
        room = height // 2 - 1
        longest = (
            room if len(self._items) <= room else max(1, room - 2)
        )  # two rows say how many are not shown
        return [head, *_indented(plan_lines(self._items, width - 2, longest=longest), 2)]

    def _leave(self, width: int) -> list[Line]:
        items, self._items = self._items, ()
        return _indented(plan_lines(items, width - _INDENT), _INDENT)


def _indented(rows: list[Line], by: int) -> list[Line]:
    return [(Span(" " * by), *row) for row in rows]
