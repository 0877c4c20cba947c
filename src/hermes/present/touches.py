"""What an action would delete or write over, for the person who is asked."""

from collections.abc import Iterator, Sequence

from hermes.present.outcome import size
from hermes.present.spans import Line, cut, line
from hermes.types.question import Touched

_NAMED = 3
_UNKNOWN = "what is only known when it runs"
_IN = "      "


def touch_sentences(touches: Sequence[Touched]) -> Iterator[str]:
    """A sentence for what would be deleted, and one for what would be written over."""
    for how in ("deletes", "changes"):
        ones = [one for one in touches if one.how == how]
        names = [one.path for one in ones if one.path]
        listed = ", ".join(names[:_NAMED])
        listed += f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        if names:
            listed += f" ({_measure(ones)})"
        if len(names) < len(ones):
            listed += f"{' and ' if names else ''}{_UNKNOWN}"
        if ones:
            yield f"{how} {listed}"


def has_list(touches: Sequence[Touched]) -> bool:
    """Whether there is more to name than the sentences do."""
    return len(touches) > _NAMED or any(one.names for one in touches)


def touch_lines(touches: Sequence[Touched], width: int) -> list[Line]:
    """All that is known of it, a row for each file."""
    rows: list[str] = []
    for one in touches:
        rows.append(f"{one.how} {one.path} ({_measure([one])})" if one.path else f"{one.how} {_UNKNOWN}")
        rows += [f"{_IN}{name}" for name in one.names]
        if one.names and (rest := one.files - len(one.names)):
            rows.append(f"{_IN}… {rest} more")
    return [cut(line(row, "dim"), width) for row in rows]


def _measure(ones: Sequence[Touched]) -> str:
    files = sum(one.files for one in ones)
    least = "more than " if any(one.more for one in ones) else ""
    return f"{least}{files} {'file' if files == 1 else 'files'}, {size(sum(one.size for one in ones))}"
