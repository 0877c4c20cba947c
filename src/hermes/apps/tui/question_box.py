"""The box a question is answered in: what it shows, and which keys it may take for an answer.

A person may be typing when it opens, so it takes nothing until no text has come for a moment, nothing out of
a burst of text, and nothing while a draft is open; whatever it does not take goes to the draft, whole. Arrows
and Enter are no text: as fast as they come, they count.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hermes.lib.text import duration, strip_escapes
from hermes.lib.visible import visible
from hermes.present.consent import AnswerChoice, answer_choices, limits, place_and_reasons, words_under_no
from hermes.present.diff import change
from hermes.present.lines import asked_about
from hermes.present.spans import Line, Span, columns, cut, fitting, line, wrap
from hermes.present.touches import has_list, touch_sentences
from hermes.types.question import Answer, Approve, Clarify, Deny, Question, Reply

STILL = 0.3
BURST = 0.05
_ROWS = 12
_DIFF_ROWS = 20
_ALL = 1_000_000
_SCROLL = 3
_FEWEST = _SCROLL + 1
_AROUND = 5  # the head, the keys, and what is left empty around the box
_LEAST = 2  # a row of what is asked about, and the one that tells of the rest


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """What became of a key: `draft` is text for the editor, `passed` says that the editor should handle the
    key itself.
    """

    draft: str = ""
    passed: bool = False


TAKEN = KeyVerdict()
PASSED = KeyVerdict(passed=True)


@dataclass(slots=True, kw_only=True)
class Box:
    """One open question. Times are seconds of one clock; feed every key to `key` and ask `due` after BURST
    seconds.

    It ends by itself at `expires`, in epoch seconds as `now` tells them; 0 is never. A question of the
    screen's own has its `title`, what it `offered` and who gets the answer (`settle`); the words that answer
    a `hidden` one are not shown.
    """

    id: str
    question: Question
    opened: float
    config_file: str = ""
    expires: float = 0.0
    now: Callable[[], float] = time.time  # noqa: TID251  # the user's own time
    title: str = ""
    offered: tuple[AnswerChoice, ...] = ()
    settle: Callable[[Answer], object] | None = None
    hidden: bool = False
    choices: tuple[AnswerChoice, ...] = field(init=False)
    cursor: int = field(init=False)
    answer: Answer | None = field(init=False, default=None)
    wants_words: bool = field(init=False, default=False)
    scroll: int = field(init=False, default=0)
    _last: float = field(init=False)
    _text_at: float = field(init=False)
    _armed: bool = field(init=False, default=False)
    _entered: bool = field(init=False, default=False)
    _held: str = field(init=False, default="")
    _typed: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.choices = self.offered or answer_choices(self.question, self.config_file)
        self.wants_words = all(choice.answer is None for choice in self.choices)
        self.cursor = self._default()
        self._last = self._text_at = self.opened

    def reopen(self, now: float) -> None:
        """Start the guard anew: the box has just come into sight."""
        self.opened = self._last = self._text_at = now
        self._armed = self._entered = False

    def key(self, key: str, now: float, *, draft: bool) -> KeyVerdict:
        """Offer a key: `up`, `down`, `enter`, `tab`, `escape`, `pageup`, `pagedown`, or the character
        typed.
        """
        still = now - self._text_at
        self._armed = self._armed or still >= STILL
        self._last = now
        if _text(key):
            self._text_at = now
        if not self._armed or self.wants_words:
            return self._unarmed(key)
        if self._held and _text(key):
            return self._burst(key)
        self._act()
        if self.answer is not None or self.wants_words:
            return TAKEN
        if key == "escape":
            self.answer = Deny()
            return TAKEN
        if draft and not self._entered:
            self._entered = key == "tab"
            return TAKEN if self._entered else PASSED
        return self._chosen(key, in_burst=still < BURST and not self._typed)

    def paste(self, now: float) -> KeyVerdict:
        """Pasted text always belongs to the draft; so does a key held back just before it."""
        self._last = self._text_at = now
        held, self._held, self._entered = self._held, "", False
        typed, self._typed = self._typed, ""
        self.cursor = self._default()
        return KeyVerdict(draft=typed + _text(held), passed=True)

    def due(self, now: float) -> None:
        """Act on a key that was held back, once no other has followed it for BURST seconds."""
        if now - self._last >= BURST * 0.99:
            self._act()

    def words(self, text: str) -> None:
        """Answer with words: a reason for a no, a yes with a limit, or a reply."""
        if isinstance(self.question, Clarify):
            self.answer = Reply(text=text)
        else:
            self.answer = words_under_no(text, self.question, self.now())

    @property
    def takes_words(self) -> bool:
        """Whether a sent draft answers the question instead of steering the turn."""
        return self.wants_words or isinstance(self.question, Clarify)

    def _unarmed(self, key: str) -> KeyVerdict:
        if self._armed and self.wants_words and key == "escape":
            self.answer = Deny()
            return TAKEN
        return PASSED

    def _act(self) -> None:
        held, self._held = self._held, ""
        if held and held != "enter":
            self.cursor = self._row(held)
        chosen = self.choices[self.cursor]
        if held == "enter" or (held and chosen.answer is None):  # words are an answer only once they are sent
            self.answer, self.wants_words = chosen.answer, chosen.answer is None
        elif held:
            self._typed += held

    def _burst(self, key: str) -> KeyVerdict:
        held, self._held = self._held, ""
        return self._to_draft(_text(held) + _text(key))

    def _chosen(self, key: str, *, in_burst: bool) -> KeyVerdict:
        if key in {"up", "down"}:
            self.cursor = (self.cursor + (1 if key == "down" else -1)) % len(self.choices)
        elif key in {"pageup", "pagedown"}:
            self.scroll = max(0, self.scroll + (_SCROLL if key == "pagedown" else -_SCROLL))
        elif key == "enter" or self._row(key) >= 0:
            if in_burst:
                return self._to_draft(_text(key))
            self._held = key
        elif len(key) > 1:
            return TAKEN
        else:
            return self._to_draft(key)
        return TAKEN

    def _row(self, key: str) -> int:
        """Where the answer of a key stands; -1 where it has none."""
        return next((number for number, choice in enumerate(self.choices) if key in choice.keys), -1)

    def _to_draft(self, text: str) -> KeyVerdict:
        """Give text to the draft, with the keys that had only moved the cursor: they were its beginning."""
        typed, self._typed = self._typed, ""
        self._entered = False
        self.cursor = self._default()
        return KeyVerdict(draft=typed + text)

    def _default(self) -> int:
        """No, for an approval; the first option of an open question."""
        return next((number for number, choice in enumerate(self.choices) if choice.answer == Deny()), 0)


def _text(key: str) -> str:
    return key if len(key) == 1 else ""


def box_lines(box: Box, width: int, height: int, *, place: tuple[int, int] = (1, 1)) -> list[Line]:
    """The box in rows of `width` cells, in at most `height` rows: its head and the beginning of what is asked
    about come first, and what has no room scrolls, it is never cut.
    """
    head, asked, choices = _head(box, width, place), _asked_lines(box, width), _choice_lines(box, width)
    reasons, hint = _reason_lines(box.question, width), line(_hint(box, width), "dim")
    room = height - len(choices) - len(reasons) - _AROUND
    if room < min(len(asked), _FEWEST):
        return [head, *_low_lines(box, [*asked, *reasons], hint, width, height - 1)]
    most = _DIFF_ROWS if isinstance(box.question, Approve) and box.question.diff else _ROWS
    return [head, *_paged(box, asked, min(most, room)), *reasons, *choices, hint]


def _low_lines(box: Box, text: list[Line], hint: Line, width: int, height: int) -> list[Line]:
    """All below the head where there is little room: of the choices only the chosen one is whole."""
    rows, at = _low_choices(box, width)
    choices = rows[max(0, min(at, len(rows) - height + _LEAST)) :][: max(1, height - _LEAST)]
    hints = [hint] if len(choices) + _LEAST < height else []
    return [*_paged(box, text, max(_LEAST, height - len(choices) - len(hints))), *choices, *hints]


def _low_choices(box: Box, width: int) -> tuple[list[Line], int]:
    """The choices in a row each, but for the chosen one, and where that begins."""
    whole = _choice_blocks(box, width)
    blocks = [rows if number == box.cursor else [_cut_off(rows, width)] for number, rows in enumerate(whole)]
    return [row for rows in blocks for row in rows], min(box.cursor, len(blocks) - 1)


def _cut_off(rows: list[Line], width: int) -> Line:
    return cut((*rows[0], *line(" …" if len(rows) > 1 else "", "dim")), width)


def _head(box: Box, width: int, place: tuple[int, int]) -> Line:
    counter = f"{place[0]} of {place[1]}" if place[1] > 1 else ""
    title = box.title or _title(box.question)
    space = " " * max(1, width - columns(line(title)) - len(counter) - 1)
    return (Span(title, "title warning"), Span(f"{space}{counter}", "dim"))


def _asked_lines(box: Box, width: int) -> list[Line]:
    """What is asked about, whole."""
    approve = isinstance(box.question, Approve)
    text = (
        asked_about(box.question) if isinstance(box.question, Approve) else strip_escapes(box.question.text)
    )
    rows = [
        row
        for part in text.expandtabs(4).split("\n")
        for row in wrap(line(part, "strong" if approve else ""), width, first=_IN, rest=_IN)
    ]
    return rows + _diff_lines(box.question, width)


def _paged(box: Box, rows: list[Line], room: int) -> list[Line]:
    if len(rows) <= room:
        return rows
    box.scroll = start = min(box.scroll, len(rows) - (room - 1))  # only here is it known where they end
    shown = rows[start : start + room - 1]
    told = f"  lines {start + 1} to {start + len(shown)} of {len(rows)} · PgUp PgDn"
    return [*shown, line(told, "warning")]


def _diff_lines(question: Question, width: int) -> list[Line]:
    """The change that is asked about, numbered, whole."""
    if not isinstance(question, Approve) or not question.diff:
        return []
    shown = change(visible(question.diff), width, longest=_ALL)
    return [line(f"  {shown.count}", "dim"), *shown.rows]


def _title(question: Question) -> str:
    if isinstance(question, Clarify):
        return "A question for you"
    return "Make this change?" if question.diff else "Run this?"


_IN: Line = (Span("  "),)


def _reason_lines(question: Question, width: int) -> list[Line]:
    if isinstance(question, Clarify):
        return []
    told = [place_and_reasons(question), *touch_sentences(question.touches)]
    if has_list(question.touches):
        told[-1] += " · Ctrl-O lists them"
    return [row for part in told for row in wrap(line(part), width)]


def _choice_lines(box: Box, width: int) -> list[Line]:
    return [row for rows in _choice_blocks(box, width) for row in rows]


def _choice_blocks(box: Box, width: int) -> list[list[Line]]:
    """The rows of each choice, or of what stands in their place while words are typed."""
    if box.wants_words:
        return [wrap(line(_words_asked(box.question), "strong"), width)]
    blocks: list[list[Line]] = []
    for number, choice in enumerate(box.choices):
        chosen = number == box.cursor
        role = "chosen accent" if chosen else ""
        first: Line = (Span("❯ " if chosen else "  ", role), Span(f"{choice.keys[0]}  ", role))
        blocks.append(wrap(line(choice.label, role), width, first=first, rest=(Span("     "),)))
    return blocks


def _words_asked(question: Question) -> str:
    if isinstance(question, Clarify):
        return "Type your answer."
    return f"Say what to do instead. {limits(question)}".rstrip()


def _hint(box: Box, width: int) -> str:
    ends = (f"no by itself in {duration(max(0.0, box.expires - box.now()))}",) if box.expires else ()
    keys = (
        ("Enter sends", "Esc no") if box.wants_words else ("↑↓ Enter", "Esc no", "Tab from a draft to here")
    )
    return fitting((*ends, *keys), width)
