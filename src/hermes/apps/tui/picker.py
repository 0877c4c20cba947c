"""The list of earlier sessions: first words, age, messages, branch, what was said last; typing filters it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hermes.lib.text import strip_escapes
from hermes.present.spans import Line, Span, cut, cut_text, fitting, line, wrap
from hermes.types.message import Assistant, Message, User, begins_turn

if TYPE_CHECKING:
    from hermes.store.protocol import SessionRow

_ROWS = 10
_ROOMY = 14  # a lower window has its rows for the sessions
_SAID_ROWS = 4  # of the last exchange: the message and three rows of its answer
_MARGIN: Line = (Span("    "),)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class Picker(Struct, kw_only=True):
    """What may be chosen: the sessions of this directory, or all; `said` is the last exchange of those that
    were looked at.
    """

    local: "Sequence[SessionRow]"
    all: "Sequence[SessionRow]"
    now: float
    here: bool = True
    chosen: int = 0
    rows: "Sequence[SessionRow]" = ()
    said: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = self.local
        if not self.rows:
            self.everywhere()

    def everywhere(self) -> None:
        """Go from this directory's sessions to all of them, and back."""
        self.here = not self.here
        self.rows, self.chosen = self.local if self.here else self.all, 0

    def matching(self, words: str) -> "list[SessionRow]":
        """The sessions whose title, first words, branch or directory have every word."""
        wanted = words.lower().split()
        return [row for row in self.rows if all(word in _searched(row) for word in wanted)]

    def move(self, steps: int, words: str) -> None:
        """Choose another row."""
        count = len(self.matching(words))
        self.chosen = (min(self.chosen, count - 1) + steps) % count if count else 0

    def choice(self, words: str) -> "SessionRow | None":
        """The chosen session, or None when nothing matches."""
        found = self.matching(words)
        return found[min(self.chosen, len(found) - 1)] if found else None

    def lines(self, words: str, width: int, height: int) -> list[Line]:
        """The list as it stands."""
        return picker_lines(self, words, width, height)


def picker_lines(picker: Picker, words: str, width: int, height: int) -> list[Line]:
    """One line for each session, where the chosen one is and what was said in it last, and the keys."""
    found = picker.matching(words)
    chosen = min(picker.chosen, len(found) - 1) if found else 0
    said = height >= _ROOMY
    room = max(1, min(_ROWS, height - 4 - (_SAID_ROWS if said else 0)))
    start = max(0, min(chosen - room + 1, len(found) - room))
    where = "in this directory" if picker.here else "everywhere"
    rows = [line(f"Sessions {where} · {len(found)} of {len(picker.rows)}", "title")]
    rows += [
        _row(row, picker.now, width, chosen=number == chosen)
        for number, row in enumerate(found[start : start + room], start)
    ]
    if not found:
        rows.append(line("  none", "dim"))
    else:
        rows.append(
            cut(line(f"  {found[chosen].cwd} · {found[chosen].model} · {found[chosen].id}", "dim"), width)
        )
        rows += _said_lines(*picker.said.get(found[chosen].id, ("", "")), width) if said else []
    other = "all" if picker.here else "this directory"
    return [*rows, line(fitting(("↑↓ Enter", "Esc", f"Tab {other}", "type to filter"), width), "dim")]


def _row(row: "SessionRow", now: float, width: int, *, chosen: bool) -> Line:
    role = "chosen accent" if chosen else ""
    facts = f"{age(now - row.updated):>4} {row.messages:>4} msg" + (
        f" {cut_text(row.branch, 12)}" if row.branch and width >= 60 else ""
    )
    name = " ".join((row.title or row.first_text or "(empty)").split())
    space = max(8, width - len(facts) - 5)
    shown = cut_text(name, space)
    gap = " " * (space - len(shown) + 1)
    return cut(
        (Span("❯ " if chosen else "  ", role), Span(shown, role), Span(f"{gap} {facts}", "dim")), width
    )


def last_exchange(log: "Sequence[Message]") -> tuple[str, str]:
    """The last message of a person in a log, and the last words that answer it."""
    place = next((at for at in reversed(range(len(log))) if begins_turn(log[at])), len(log))
    asked = [one.text for one in log[place : place + 1] if isinstance(one, User)]
    answers = [one.text for one in log[place:] if isinstance(one, Assistant) and one.text.strip()]
    return "".join(asked), "".join(answers[-1:])


def _said_lines(asked: str, answered: str, width: int) -> list[Line]:
    """An exchange in a few rows, so many also where it is short: the list does not jump."""
    message, answer = (" ".join(strip_escapes(text).split()) for text in (asked, answered))
    rows = [cut((Span("  ❯ ", "prompt"), Span(message)), width)] if message else []
    room = _SAID_ROWS - 1
    told = wrap(line(answer[: room * width], "dim"), width, first=_MARGIN, rest=_MARGIN) if answer else []
    rows += told[:room]
    return [*rows, *[()] * (_SAID_ROWS - len(rows))]


def _searched(row: "SessionRow") -> str:
    return f"{row.title} {row.first_text} {row.branch} {row.cwd}".lower()


def age(seconds: float) -> str:
    """How long ago, in one unit: now, 5m, 3h, 12d."""
    for limit, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= limit:
            return f"{int(seconds // limit)}{unit}"
    return "now"
