"""A goal in a line."""

from collections.abc import Mapping
from typing import Final

from hermes.lib.text import strip_escapes
from hermes.present.spans import Line, Span, line, wrap
from hermes.types.event import GoalChanged
from hermes.types.goal import Goal, GoalState

_SIGNS: Final[Mapping[GoalState, tuple[str, str]]] = {
    "active": ("◎ ", "accent"),
    "paused": ("‖ ", "warning"),
    "blocked": ("✗ ", "error"),
    "done": ("✓ ", "good"),
}


def goal_words(goal: Goal) -> str:
    """How a goal stands: its state, its turns, and why."""
    reason = " ".join(strip_escapes(goal.reason).split())
    return f"{goal.state}, turn {goal.turns} of {goal.limit}{f': {reason}' if reason else ''}"


def goal_short(goal: Goal | None) -> str:
    """A goal in two or three words; "" where there is none, or it is reached."""
    if goal is None or goal.state == "done":
        return ""
    return f"goal {goal.turns}/{goal.limit}" if goal.state == "active" else f"goal {goal.state}: /goal resume"


def goal_lines(event: GoalChanged, width: int) -> list[Line]:
    """What became of a goal; nothing where it was just set, which the next message says."""
    goal = event.goal
    if goal is None:
        return [line("the goal is let go", "dim")]
    if goal.state == "active" and not goal.turns:
        return []
    sign, role = _SIGNS[goal.state]
    said = line(f"goal {goal_words(goal)}", "dim" if goal.state == "active" else "")
    return wrap(said, width, first=(Span(sign, role),), rest=(Span("  "),))
