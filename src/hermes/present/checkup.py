"""What a look at an installation found, and its rows on a screen."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from hermes.lib.visible import visible
from hermes.present.spans import Line, Span, line, wrap

State = Literal["ok", "warning", "fault"]
MARKS: Final[Mapping[State, str]] = {"ok": "✓", "warning": "!", "fault": "✗"}
_ROLES: Final[Mapping[State, str]] = {"ok": "good", "warning": "warning", "fault": "error"}


class CheckResult(Struct, frozen=True):
    """One finding."""

    state: State
    text: str


def checkup_lines(found: Sequence[CheckResult], width: int) -> list[Line]:
    """Each finding behind its mark, wrapped."""
    return [row for one in found for row in _rows(one, width)]


def _rows(one: CheckResult, width: int) -> list[Line]:
    mark = Span(f"{MARKS[one.state]} ", _ROLES[one.state])
    return wrap(line(visible(one.text)), width, first=(mark,), rest=(Span("  "),))
