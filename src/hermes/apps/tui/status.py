"""The few facts that are always in sight: the header, the status line, directory and branch."""

from pathlib import Path

from msgspec import Struct

from hermes.present.spans import Line, Span, columns, cut, line
from hermes.present.words import tokens

BUILT_IN = "built-in model"
"""The model that has no name before it runs."""

_WARM, _HOT = 70, 90


class Facts(Struct, frozen=True, kw_only=True):
    """What the header and the status line tell; `guard` says how commands are guarded, `unguarded` that
    nothing asks.

    `cost` is empty where the price is not known; `goal` is how far a goal is, empty without one.
    """

    version: str
    model: str = ""
    context: int = 0
    window: int = 0
    guard: str = ""
    unguarded: bool = False
    directory: str = ""
    branch: str = ""
    title: str = ""
    cost: tuple[str, ...] = ()
    goal: str = ""


def header_lines(facts: Facts, width: int) -> list[Line]:
    """Name and version, model, directory, protection: two lines, never wider than the window."""
    place = facts.directory + (f" ({facts.branch})" if facts.branch else "")
    model = facts.model or "no model"
    second = [facts.guard, "? keys", "/help"] if facts.guard else ["? keys", "/help"]
    return [
        cut(
            (Span("hermes ", "title accent"), Span(facts.version, "dim"), Span(f" · {model} · {place}")),
            width,
        ),
        cut(line(" · ".join(second), "dim"), width),
    ]


def early_lines(version: str, directory: str, width: int) -> list[Line]:
    """What stands in place of the header until the session is open: as many rows, and the empty one below
    them.
    """
    return [
        cut((Span("hermes ", "title accent"), Span(version, "dim"), Span(f" · {directory}", "dim")), width),
        cut(line("starting …", "dim"), width),
        (),
    ]


def status_line(facts: Facts, width: int) -> Line:
    """Model, context, protection, directory, branch; on a narrow window the cost goes first, then from the
    right, but protection always stays.
    """
    place = f"{facts.directory} ({facts.branch})" if facts.branch else facts.directory
    guard = [line(facts.guard, "warning" if facts.unguarded else "dim")] if facts.guard else []
    cost = [line(cost, "dim") for cost in facts.cost]
    context = [*([line(facts.goal, "accent")] if facts.goal else []), *_context(facts)]
    rests = [
        [*context, *cost, *guard, line(place, "dim")],
        [*context, *guard, line(place, "dim")],
        [*context, *guard],
        guard,
    ]
    model = line(facts.model or "no model: /model sets one", "dim" if facts.model else "warning")
    rest = next((rest for rest in rests if _length([model, *rest]) <= width), guard)
    shortened = cut(model, max(1, width - _length(rest) - 3)) if rest else model
    joined: list[Span] = []
    for part in [shortened, *rest]:
        joined += [*([Span(" · ", "dim")] if joined else []), *part]
    return cut(tuple(joined), width)


def _length(parts: list[Line]) -> int:
    return sum(columns(part) + 3 for part in parts) - 3


def _context(facts: Facts) -> list[Line]:
    """How full the context is; nothing when the window is not known."""
    if not facts.window:
        return []
    share = 100 * facts.context // facts.window
    text = f"{tokens(facts.context)}/{tokens(facts.window)} {share}%"
    if share >= _HOT:
        return [line(f"{text} nearly full: /compress", "error")]
    return [line(text, "warning" if share >= _WARM else "dim")]


def short_path(path: Path, home: Path) -> str:
    """A path with `~` for the home directory."""
    return "~" if path == home else f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
