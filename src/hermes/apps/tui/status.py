"""The few facts that are always in sight: the header, the status line, directory and branch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.present.spans import Line, Span, columns, cut, line, plain
from hermes.present.words import dollars, tokens

if TYPE_CHECKING:
    from hermes.agent.session import Session

_WARM, _HOT = 70, 90
_LEAVE = ({"cost"}, {"background"}, {"directory"}, {"context", "goal"})  # in this order, where it is narrow


class Facts(Struct, frozen=True, kw_only=True):
    """What the header and the status line tell; `guard` says how commands are guarded, `unguarded` that
    nothing asks.

    `cost` is empty where the price is not known; `goal` is how far a goal is, empty without one; `background`
    counts the processes that run there.
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
    background: int = 0


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


def status_line(facts: Facts, width: int, items: Sequence[str]) -> Line:
    """The items that are wanted, in their order, as far as there is something to tell; on a narrow window
    the cost goes first, then what runs in the background, then the directory. Protection always stays.
    """
    parts = _parts(facts)
    wanted = items if "protection" in items else [*items, "protection"]
    shown = {name: parts[name] for name in wanted if plain(parts[name])}
    for leaving in _LEAVE:
        if _length(list(shown.values())) > width:
            shown = {name: part for name, part in shown.items() if name not in leaving}
    if "model" in shown:
        others = _length([()] + [part for name, part in shown.items() if name != "model"])
        shown["model"] = cut(shown["model"], max(1, width - others))
    joined: list[Span] = []
    for part in shown.values():
        joined += [*([Span(" · ", "dim")] if joined else []), *part]
    return cut(tuple(joined), width)


def _parts(facts: Facts) -> dict[str, Line]:
    """Every item by its name in `display.status`, empty where there is nothing to tell."""
    model = facts.model or "no model: /model sets one"
    return {
        "model": line(model, "dim" if facts.model else "warning"),
        "goal": line(facts.goal, "accent") if facts.goal else (),
        "context": _context(facts),
        "cost": line(" · ".join(facts.cost), "dim"),
        "background": line(f"{facts.background} in background", "dim") if facts.background else (),
        "protection": line(facts.guard, "warning" if facts.unguarded else "dim"),
        "directory": line(f"{facts.directory} ({facts.branch})" if facts.branch else facts.directory, "dim"),
    }


def _length(parts: list[Line]) -> int:
    return sum(columns(part) + 3 for part in parts) - 3


def _context(facts: Facts) -> Line:
    """How full the context is; nothing when the window is not known."""
    if not facts.window:
        return ()
    share = 100 * facts.context // facts.window
    text = f"{tokens(facts.context)}/{tokens(facts.window)} {share}%"
    if share >= _HOT:
        return line(f"{text} nearly full: /compress", "error")
    return line(text, "warning" if share >= _WARM else "dim")


def cost_of(session: "Session") -> tuple[str, ...]:
    """What a session and its children have cost, in few words, tokens where no price is known; none before
    a provider has answered.
    """
    usage = session.usage
    if not (usage.input_tokens or usage.output_tokens) and not session.endpoint.local:
        return ()
    unpriced = f"{tokens(usage.unpriced)} tokens" if usage.unpriced else ""
    return (" + ".join(filter(None, (dollars(usage.cost) if usage.cost else "", unpriced))) or "free",)
