"""The plan of a session as a list."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.lib.text import strip_escapes
from hermes.present.spans import MORE_BY_KEY, Line, Span, cut

_SIGNS: Final = {
    "completed": ("☑", "dim"),
    "in_progress": ("▸", "accent"),
    "pending": ("☐", ""),
    "cancelled": ("✗", "dim"),
}
SHOWN_ITEMS: Final = 12


def plan_lines(items: Sequence[Mapping[str, Any]], width: int, *, longest: int = SHOWN_ITEMS) -> list[Line]:
    """The items of a plan in a row each. Of a long one those from the one before the first that is open are
    shown, and how many stand before and after them.
    """
    first = next((place for place, one in enumerate(items) if one["status"] in {"pending", "in_progress"}), 0)
    before = 1 if longest > 1 else 0
    start = max(0, min(first - before, len(items) - longest))
    shown = items[start : start + longest]
    rows = [_row(one, width) for one in shown]
    earlier = [(Span(f"… {start} earlier", "dim"), MORE_BY_KEY)] if start else []
    left = len(items) - start - len(shown)
    return [*earlier, *rows, *([(Span(f"… {left} more", "dim"), MORE_BY_KEY)] if left else [])]


def plan_word(items: Sequence[Mapping[str, Any]]) -> str:
    """How far a plan is: `2 of 5`, without what was given up."""
    kept = [one["status"] for one in items if one["status"] != "cancelled"]
    return f"{kept.count('completed')} of {len(kept)}" if items else "empty"


def plan_item(items: Sequence[Mapping[str, Any]]) -> str:
    """The item that is worked on, empty where none is."""
    doing = (str(one["content"]) for one in items if one["status"] == "in_progress")
    return " ".join(strip_escapes(next(doing, "")).split())


def _row(item: Mapping[str, Any], width: int) -> Line:
    sign, role = _SIGNS.get(str(item["status"]), _SIGNS["pending"])
    words = " ".join(strip_escapes(str(item["content"])).split())
    return cut((Span(f"{sign} ", role), Span(words, "dim" if role == "dim" else "")), width)
