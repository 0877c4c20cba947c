"""Find the place that an edit means, by rules from exact to loose; two places that fit equally are
refused.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

Span = tuple[int, int]
Rule = Callable[[str, str], Iterator[Span]]

_CLOSE: Final = 0.75  # how alike the middle of a block must be when only its first and last lines fit
_MOST: Final = 200  # places listed at most


class NoMatch(ValueError):
    """The text is not there, or is there more than once; the message is for the model."""


class Replaced(Struct, frozen=True):
    """The new text, the rule that found the place, and how many places were changed."""

    text: str
    rule: str
    count: int


def replace_text(text: str, old: str, new: str, *, every: bool = False) -> Replaced:
    """`text` with `old` replaced by `new`, in all places when `every`; NoMatch when no rule finds exactly one
    place.
    """
    if not old:
        raise NoMatch("old_string is empty; give the text to replace, or use write_file")
    if old == new:
        raise NoMatch("old_string and new_string are the same; nothing would change")
    for name, rule in RULES:
        spans = _apart(rule(text, old))
        if not spans:
            continue
        if len(spans) > 1 and not every:
            places = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in spans[:10])
            raise NoMatch(
                f"old_string fits {len(spans)} places ({name}; lines {places}); add lines around it, or set"
                " replace_all"
            )
        return Replaced(_substitute(text, spans, old, new, exact=name == "exact"), name, len(spans))
    raise NoMatch("old_string was not found" + _nearest(text, old))


def _apart(spans: Iterator[Span]) -> list[Span]:
    """Spans in order, none twice, none that overlaps the one before."""
    found: list[Span] = []
    for span in spans:
        if not found or span[0] >= found[-1][1]:
            found.append(span)
        if len(found) >= _MOST:
            break
    return found


def _substitute(text: str, spans: list[Span], old: str, new: str, *, exact: bool) -> str:
    parts = []
    end = 0
    for start, stop in spans:
        parts += [text[end:start], new if exact else _fitted(text[start:stop], old, new)]
        end = stop
    return "".join([*parts, text[end:]])


def _fitted(found: str, old: str, new: str) -> str:
    """`new` with the indentation and the last newline of what was found, where these differ from `old`'s."""
    new = _reindented(found, old, new)
    if found.endswith("\n") and new and not new.endswith("\n"):
        return new + "\n"
    if new.endswith("\n") and not found.endswith("\n"):
        return new.removesuffix("\n")
    return new


def _reindented(found: str, old: str, new: str) -> str:
    """`new` with each indentation that `old` has too turned into the one that the file has in that place."""
    pairs = zip(old.strip("\n").split("\n"), found.strip("\n").split("\n"), strict=False)
    known = {_indent(meant): _indent(have) for meant, have in reversed(list(pairs)) if meant.strip()}
    if all(meant == have for meant, have in known.items()):
        return new
    return "\n".join(_with_indent(line, known) for line in new.split("\n"))


def _with_indent(line: str, known: dict[str, str]) -> str:
    indent = _indent(line)
    if not line.strip():
        return line
    base = max((one for one in known if indent.startswith(one)), key=len, default=None)
    return line if base is None else known[base] + line[len(base) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _exact(text: str, old: str) -> Iterator[Span]:
    start = text.find(old)
    while start >= 0:
        yield start, start + len(old)
        start = text.find(old, start + len(old))


def _by_lines(normal: Callable[[str], str]) -> Rule:
    """A rule that holds whole lines against whole lines, each made normal first."""

    def rule(text: str, old: str) -> Iterator[Span]:
        wanted = [normal(line) for line in old.strip("\n").split("\n")]
        if not any(wanted):
            return
        lines, starts = _lines(text)
        have = [normal(line) for line in lines]
        for first in range(len(have) - len(wanted) + 1):
            if have[first : first + len(wanted)] == wanted:
                yield _line_span(text, starts, first, len(wanted), whole=old.endswith("\n"))

    return rule


def _lines(text: str) -> tuple[list[str], list[int]]:
    """The lines of a text without their ends, and where each begins, with the text's length behind the
    last.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return lines, starts


def _line_span(text: str, starts: list[int], first: int, count: int, *, whole: bool) -> Span:
    stop = starts[first + count]
    return starts[first], min(stop if whole else stop - 1, len(text))


def _spaces(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip()


def _dedented(text: str, old: str) -> Iterator[Span]:
    """Blocks that differ from `old` by one common indentation."""
    wanted = _without_common(old.strip("\n").split("\n"))
    if not any(wanted):
        return
    lines, starts = _lines(text)
    for first in range(len(lines) - len(wanted) + 1):
        if _without_common(lines[first : first + len(wanted)]) == wanted:
            yield _line_span(text, starts, first, len(wanted), whole=old.endswith("\n"))


def _without_common(lines: list[str]) -> list[str]:
    full = [line.expandtabs(4) for line in lines]
    margin = min((len(line) - len(line.lstrip()) for line in full if line.strip()), default=0)
    return [line[margin:].rstrip() if line.strip() else "" for line in full]


def _unescaped(text: str, old: str) -> Iterator[Span]:
    r"""`old` written with escapes (`\n`, `\t`, `\"`) where the file has the characters."""
    letters = {"n": "\n", "t": "\t", "r": "\r"}
    plain = re.sub(r"\\([ntr\"'`\\$])", lambda match: letters.get(match[1], match[1]), old)
    return _exact(text, plain) if plain != old else iter(())


def _trimmed(text: str, old: str) -> Iterator[Span]:
    """`old` without the white space around it."""
    inner = old.strip()
    return _exact(text, inner) if inner and inner != old else iter(())


_LOOKALIKES: Final = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "–": "-",
        "—": "-",
        "−": "-",
        "‐": "-",
        "…": "...",
        "\u00a0": " ",
        "\u202f": " ",
        "\u200b": "",
    }
)


def _unicode(line: str) -> str:
    return _spaces(unicodedata.normalize("NFKC", line.translate(_LOOKALIKES)))


def _anchored(text: str, old: str) -> Iterator[Span]:
    """Blocks with the first and last line of `old`, and much the same between."""
    wanted = [_spaces(line) for line in old.strip("\n").split("\n")]
    if len(wanted) < 3 or not wanted[0] or not wanted[-1]:
        return
    lines, starts = _lines(text)
    have = [_spaces(line) for line in lines]
    for first in range(len(have) - len(wanted) + 1):
        block = have[first : first + len(wanted)]
        if block[0] == wanted[0] and block[-1] == wanted[-1] and _alike(block, wanted):
            yield _line_span(text, starts, first, len(wanted), whole=old.endswith("\n"))


def _contextual(text: str, old: str) -> Iterator[Span]:
    """Blocks of which at least three lines in four are those of `old`, and which are much like it as a
    whole.
    """
    wanted = [_spaces(line) for line in old.strip("\n").split("\n")]
    if len(wanted) < 4:
        return
    lines, starts = _lines(text)
    have = [_spaces(line) for line in lines]
    for first in range(len(have) - len(wanted) + 1):
        block = have[first : first + len(wanted)]
        same = sum(1 for one, other in zip(block, wanted, strict=True) if one == other)
        if same >= _CLOSE * len(wanted) and _alike(block, wanted):
            yield _line_span(text, starts, first, len(wanted), whole=old.endswith("\n"))


def _alike(one: list[str], other: list[str]) -> bool:
    return difflib.SequenceMatcher(None, "\n".join(one), "\n".join(other), autojunk=False).ratio() >= _CLOSE


def _nearest(text: str, old: str) -> str:
    """A hint: the line of the text that is most like the first line of `old`."""
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = {
        line.strip(): number
        for number, line in reversed(list(enumerate(text.split("\n")[:20_000], start=1)))
        if line.strip()
    }
    near = (
        difflib.get_close_matches(first[:200], [line for line in lines if len(line) <= 200], n=1, cutoff=0.6)
        if first
        else []
    )
    return (
        f"; the nearest line is {lines[near[0]]}: {near[0]}"
        if near
        else "; read the file again and copy the text from it"
    )


RULES: Final[tuple[tuple[str, Rule], ...]] = (
    ("exact", _exact),
    ("trailing space ignored", _by_lines(str.rstrip)),
    ("line ends trimmed", _by_lines(str.strip)),
    ("white space run together", _by_lines(_spaces)),
    ("indentation shifted", _dedented),
    ("escapes resolved", _unescaped),
    ("outer white space dropped", _trimmed),
    ("look-alike characters", _by_lines(_unicode)),
    ("first and last line", _anchored),
    ("most lines", _contextual),
)
"""The rules in the order in which they are tried."""
