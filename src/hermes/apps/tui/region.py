"""The region around the input line, as rows: what moves, what waits, the question, the working line, the
status.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from hermes.agent.conversation import Conversation
from hermes.apps.tui.editor import Editor
from hermes.apps.tui.menu import menu_lines
from hermes.apps.tui.model_picker import ModelPicker
from hermes.apps.tui.picker import Picker
from hermes.apps.tui.question_box import Box, box_lines
from hermes.apps.tui.status import Facts, early_lines, status_line
from hermes.apps.tui.transcript import Transcript
from hermes.present.spans import Line, Span, columns, cut, line, pad, wrap
from hermes.present.theme import Theme

KEYS = (
    ("Enter", "send; while it works: into this turn"),
    ("Tab", "complete; while it works: send after this turn"),
    ("\\ Enter · Ctrl-J · Alt-Enter", "new line"),
    ("Esc · Ctrl-C", "stop the turn; Ctrl-C twice or Ctrl-D leaves"),
    ("↑ · Ctrl-R", "earlier messages · search them"),
    ("Alt-↑", "edit the waiting messages"),
    ("/ · @ · !cmd · !!cmd", "commands · files · run · run unseen"),
    ("Ctrl-O · Ctrl-T", "whole output, again: all · the reasoning"),
    ("Shift-Tab", "edits: free, ask, or plan mode"),
    ("Ctrl-G · Ctrl-L · Ctrl-Z", "$EDITOR · clear the window · suspend"),
)
_FRAMES = 10


class Overlay(Struct, kw_only=True):
    """What lies over the region for a while."""

    boxes: list[Box] = field(default_factory=list)
    asked: int = 0
    picker: Picker | ModelPicker | None = None
    keys: bool = False
    hint: str = ""

    @property
    def box(self) -> Box | None:
        """The question to be answered now."""
        return self.boxes[0] if self.boxes else None

    @property
    def hides(self) -> bool:
        """Whether what is typed now is not for the eye, nor for the history."""
        return self.box is not None and self.box.hidden


class LiveRegion(Struct, kw_only=True):
    """Everything the rows are made of; until `opened`, words in place of the header stand on top."""

    transcript: Transcript
    conversation: Conversation
    editor: Editor
    overlay: Overlay
    facts: Facts
    theme: Theme
    status: Sequence[str]
    opened: bool = False

    def above(self, width: int, height: int, now: float) -> list[Line]:
        """The rows above the input line; where they do not fit, what moves loses its top."""
        self.transcript.width = width
        tick = int(now * _FRAMES)
        fixed = self._fixed(width, height, now, tick)
        moving = self.transcript.moving(now, self.theme, tick)
        room = height - len(fixed) - 1
        shown = moving[max(0, len(moving) - room) :] if room > 0 else []
        rows = [*shown, *([()] if shown and fixed else []), *fixed]
        if not self.opened:
            rows = [*early_lines(self.facts.version, self.facts.directory, width), *rows]
        elif not rows or rows[0]:
            rows.insert(0, ())
        return rows[max(0, len(rows) - height) :]

    def below(self, width: int, height: int) -> list[Line]:
        """The rows below the input line: completions or the rule, and the status line."""
        menu = menu_lines(self.editor.menu, width)[: max(0, height - 3)]
        busy = self.conversation.busy and not self.overlay.boxes
        hint = "Enter: into this turn · Tab: after it" if busy else ""
        if busy and self.transcript.turn is None:
            hint = "Enter: sent after this"
        if self.conversation.judging and not busy:
            hint = "the goal is being judged · Esc pauses it"
        hint = self.overlay.hint or hint
        return [*menu, rule(width, hint), status_line(self.facts, width, self.status) if self.opened else ()]

    def _fixed(self, width: int, height: int, now: float, tick: int) -> list[Line]:
        rows = self._waiting(width)
        if self.overlay.picker is not None:
            return [*rows, *self.overlay.picker.lines(self.editor.text, width, height)]
        if self.overlay.box is not None:
            done = self.overlay.asked - len(self.overlay.boxes)
            place, room = (done + 1, self.overlay.asked), height - len(rows)
            return [*rows, *box_lines(self.overlay.box, width, room, place=place)]
        if self.overlay.keys:
            return [*rows, *key_lines(width)]
        if self.transcript.turn is None and not self.conversation.busy:
            return rows
        plan = self.transcript.plan.lines(width, height)
        return [*rows, *plan, *self.transcript.working(now, self.theme, tick)]

    def _waiting(self, width: int) -> list[Line]:
        labelled = [("into this turn", text) for text in self.conversation.steered] + [
            ("next", text) for text in self.conversation.waiting
        ]
        rows = [
            cut((Span(f"  {label}: ", "accent"), Span(" ".join(text.split()), "dim")), width)
            for label, text in labelled
        ]
        if rows:
            rows.append(line("  Alt-↑ edits", "dim"))
        return rows


def rule(width: int, hint: str = "") -> Line:
    """A line across the window with a hint in it; one cell short, so that it does not wrap."""
    width -= 1
    if not hint or columns(line(hint)) + 8 > width:
        return line("─" * width, "dim")
    return line("─" * (width - columns(line(hint)) - 6) + f" {hint} " + "─" * 4, "dim")


def key_lines(width: int) -> list[Line]:
    """All keys, in nine rows; a window that is too narrow for two columns has them wrapped."""
    size = max(columns(line(name)) for name, _ in KEYS) + 4
    if width < size + max(columns(line(what)) for _, what in KEYS):
        return [
            row
            for name, what in KEYS
            for row in wrap((Span(f"{name}: ", "strong"), Span(what)), width, rest=(Span("  "),))
        ]
    return [(*pad((Span(f"  {name}", "strong"),), size), Span(what)) for name, what in KEYS]


def key_table() -> str:
    """All keys as Markdown."""
    return "\n".join(f"- `{name}`: {what}" for name, what in KEYS)
