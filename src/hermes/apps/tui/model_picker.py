"""The list of models; typing filters it."""

from collections.abc import Sequence

from msgspec import Struct

from hermes.commands.model_choices import ModelChoice
from hermes.present.spans import Line, Span, cut, cut_text, fitting, line

_ROWS = 10
_ADDRESS = "/model NAME http://host:port/v1 [KEY] takes one at an address"


class ModelPicker(Struct, kw_only=True):
    """What may be chosen; `asking` while the server in use is asked for its models."""

    now: str
    models: Sequence[ModelChoice] = ()
    asking: bool = False
    chosen: int = 0

    def matching(self, words: str) -> list[ModelChoice]:
        """The models whose name has every word."""
        wanted = words.lower().split()
        return [one for one in self.models if all(word in one.name.lower() for word in wanted)]

    def put_first(self, served: Sequence[ModelChoice], words: str) -> None:
        """Take in what the server told; it comes first, and who has moved to a row stays there."""
        self.asking, rested = False, self.choice(words) if self.chosen else None
        names = {one.name for one in served}
        self.models = [*served, *(one for one in self.models if one.name not in names)]
        found = self.matching(words)
        self.chosen = found.index(rested) if rested in found else 0

    def move(self, steps: int, words: str) -> None:
        """Choose another row."""
        count = len(self.matching(words))
        self.chosen = (min(self.chosen, count - 1) + steps) % count if count else 0

    def everywhere(self) -> None:
        """There is one list alone."""

    def choice(self, words: str) -> ModelChoice | None:
        """The chosen model, or None when nothing matches."""
        found = self.matching(words)
        return found[min(self.chosen, len(found) - 1)] if found else None

    def lines(self, words: str, width: int, height: int) -> list[Line]:
        """Which model answers now, one line for each that may be chosen, and the keys."""
        found = self.matching(words)
        chosen = min(self.chosen, len(found) - 1) if found else 0
        room = max(1, min(_ROWS, height - 4))
        start = max(0, min(chosen - room + 1, len(found) - room))
        asked = " · asking the server …" if self.asking else ""
        head = f"Models · {len(found)} of {len(self.models)}{asked} · now {self.now}"
        rows = [
            _row(one, width, chosen=number == chosen)
            for number, one in enumerate(found[start : start + room], start)
        ]
        return [
            cut(line(head, "title"), width),
            *(rows or [line("  none", "dim")]),
            cut(line(f"  {_ADDRESS}", "dim"), width),
            line(fitting(("↑↓ Enter", "Esc", "type to filter"), width), "dim"),
        ]


def _row(one: ModelChoice, width: int, *, chosen: bool) -> Line:
    role = "chosen accent" if chosen else ""
    space = max(8, width - len(one.note) - 4)
    shown = cut_text(one.name, space)
    gap = " " * (space - len(shown) + 1)
    return cut(
        (Span("❯ " if chosen else "  ", role), Span(shown, role), Span(f"{gap}{one.note}", "dim")), width
    )
