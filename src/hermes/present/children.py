"""Children of a session in a line each."""

from collections.abc import Mapping
from typing import Final

from hermes.lib.text import duration
from hermes.present.spans import Line, Span, columns, cut, line
from hermes.present.words import tokens
from hermes.types.delegation import ChildState
from hermes.types.event import ChildChanged

_SIGNS: Final[Mapping[ChildState, tuple[str, str]]] = {
    "waiting": ("○", "dim"),
    "running": ("●", "accent"),
    "done": ("✓", "good"),
}
_ENDED: Final = ("✗", "error")
_LEAST: Final = 12


def child_line(event: ChildChanged, seconds: float, width: int) -> Line:
    """A child: its goal, what it does or how it ended, how long it has run, what it has used."""
    sign, role = _SIGNS.get(event.state, _ENDED)
    told = _doing(event) if event.state == "running" else event.state.replace("_", " ")
    used = f" · {tokens(event.tokens)} tokens" if event.tokens else ""
    clock = f" · {duration(seconds)}" if event.state != "waiting" else ""
    end: Line = (Span(f"{clock}{used}", "dim"),)
    head: Line = (Span(f"{sign} ", role),)
    room = width - columns(end) - 2
    goal = cut(line(" ".join(event.goal.split())), max(_LEAST, room * 2 // 3))
    return (*cut((*head, *goal, Span(f" · {told}" if told else "", "dim")), max(_LEAST, room + 2)), *end)


def _doing(event: ChildChanged) -> str:
    return " ".join(event.doing.split()) or ("goes on in the background" if event.background else "")
