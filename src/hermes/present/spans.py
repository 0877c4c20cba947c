"""Styled text as values: a line is a tuple of spans, and a span is text with the names of its roles."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import force_setattr
from rich.cells import cell_len

from hermes.lib.text import for_terminal


class Span(Struct, frozen=True):
    """A piece of text; `role` holds names of a theme's roles, separated by spaces.

    Whatever the text is made of, a terminal gets no escapes from it: they are taken out here, before anything
    is measured or cut.
    """

    text: str
    role: str = ""

    def __post_init__(self) -> None:
        if not self.text.isprintable():
            force_setattr(self, "text", for_terminal(self.text))


Line = tuple[Span, ...]
MORE_BY_KEY = Span(" · Ctrl-O", "dim")
"""Ends a line that says how much is left out, where a key of the screen shows it; elsewhere there is none."""
_RUNS = re.compile(" +|[^ ]+")


def line(text: str, role: str = "") -> Line:
    """A line of one span."""
    return (Span(text, role),)


def plain(styled: Iterable[Span]) -> str:
    """The text of a line, without its roles."""
    return "".join(span.text for span in styled)


def columns(styled: Iterable[Span]) -> int:
    """How many terminal cells a line takes."""
    return sum(cell_len(span.text) for span in styled)


def cut(styled: Line, width: int, *, mark: str = "…") -> Line:
    """`styled` if it fits `width` cells, else its beginning and `mark`; never wider than `width`."""
    if columns(styled) <= width:
        return styled
    if width <= cell_len(mark):
        return ()
    return (*_take(styled, width - cell_len(mark)), Span(mark, styled[-1].role if styled else ""))


def cut_text(text: str, width: int, *, mark: str = "…") -> str:
    """As `cut`, for plain text."""
    return plain(cut(line(text), width, mark=mark))


def fitting(parts: Sequence[str], width: int) -> str:
    """Short parts with dots between them, without the last ones where they do not fit; the first always
    stays.
    """
    kept = list(parts)
    while len(kept) > 1 and cell_len(" · ".join(kept)) > width:
        kept.pop()
    return " · ".join(kept)


def pad(styled: Line, width: int) -> Line:
    """`styled` filled with spaces on the right up to `width` cells."""
    missing = width - columns(styled)
    return (*styled, Span(" " * missing)) if missing > 0 else styled


def wrap(styled: Line, width: int, *, first: Line = (), rest: Line = ()) -> list[Line]:
    """`styled` as rows of at most `width` cells, broken at spaces; `first` and `rest` are the prefixes of the
    rows.
    """
    rows: list[Line] = []
    row, used, prefix = list(first), columns(first), columns(first)
    for word in _words(styled):
        size = columns(word)
        if used + size > width and used > prefix:
            rows.append(_strip_end(row))
            row, used, prefix = list(rest), columns(rest), columns(rest)
            if not plain(word).strip():
                continue
        for piece in _chop(word, max(1, width - used), max(1, width - columns(rest))):
            if used > prefix and used + columns(piece) > width:
                rows.append(_strip_end(row))
                row, used, prefix = list(rest), columns(rest), columns(rest)
            row += piece
            used += columns(piece)
    rows.append(_strip_end(row) if used > prefix else tuple(row))
    return rows


def drop(styled: Line, count: int) -> Line:
    """`styled` without its first `count` characters."""
    characters = [(char, span.role) for span in styled for char in span.text]
    return _merge(characters[count:])


def _words(styled: Line) -> Iterator[Line]:
    """Runs of spaces and runs of other characters, glued over span borders."""
    word: list[Span] = []
    for span in styled:
        for run in _RUNS.findall(span.text):
            if word and (run[0] == " " or word[-1].text[0] == " "):
                yield tuple(word)
                word = []
            word.append(Span(run, span.role))
    if word:
        yield tuple(word)


def _merge(characters: Iterable[tuple[str, str]]) -> Line:
    return tuple(
        Span("".join(char for char, _ in run), role)
        for role, run in groupby(characters, key=lambda item: item[1])
    )


def _chop(word: Line, room: int, width: int) -> list[Line]:
    """`word` in pieces: the first fits `room` cells, the others `width`; a word that fits stays whole."""
    pieces: list[Line] = []
    while columns(word) > room:
        piece = _take(word, room) or _take(word, 2)
        pieces.append(piece)
        word = drop(word, len(plain(piece)))
        room = width
    return [*pieces, word] if word else pieces


def _take(styled: Line, width: int) -> Line:
    taken: list[tuple[str, str]] = []
    used = 0
    for char, role in ((char, span.role) for span in styled for char in span.text):
        used += cell_len(char)
        if used > width:
            break
        taken.append((char, role))
    return _merge(taken)


def _strip_end(row: list[Span]) -> Line:
    """A finished row: spans of one role joined, no spaces at its end."""
    joined = [
        Span("".join(span.text for span in run), role)
        for role, run in groupby(row, key=lambda span: span.role)
    ]
    while joined and not joined[-1].text.strip(" "):
        joined.pop()
    return (*joined[:-1], Span(joined[-1].text.rstrip(" "), joined[-1].role)) if joined else ()
