"""What an answer claims that can be looked up: numbers, quotations and names of files, held against what the
model has seen.

A small model makes up what it did not find; these three are what it makes up, in every language.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, takewhile
from typing import Final

_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:[.,']\d+|[\u00a0\u202f ]\d{3}(?!\d))*(?![\w])")
_QUOTED: Final = re.compile(
    r"\"([^\"\n]+)\"|`([^`\n]+)`|«\s?([^»\n]+?)\s?»|„([^“”\n]+)[“”]|“([^”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)"
)
_FILE: Final = re.compile(r"(?<![\w./-])[\w./-]*[A-Za-z_][\w-]*\.[A-Za-z]\w{0,4}(?!\w)")
_GROUPS: Final = re.compile(r"(?<=\d)[,.\u00a0\u202f' ](?=\d{3}(?!\d))")
_TIME: Final = re.compile(r"\b\d{1,2}:\d\d(?::\d\d)?\b")
_LONGEST: Final = 4_000
"""Characters of an answer that are looked at: some of the expressions take the square of it."""
_EDGES: Final = " \t.,;:!?*_\"'`"


def unshown(answer: str, seen: Iterable[str]) -> list[str]:
    """The claims of an answer that stand in nothing seen, each once: quotations, files, times, numbers.

    A number also counts as seen when it is a seen one rounded, or how many lines some text has.
    """
    texts = list(seen)
    whole = _plain("\n".join(texts))
    counted = [_TIME.sub(" ", text) for text in texts]  # a time has no number that somebody asked for
    numbers = sorted({value for text in counted for value in _numbers(text)})
    found = [claim for claim in _claims(answer[:_LONGEST]) if not _stands(claim, whole, numbers)]
    return list(dict.fromkeys(found))


def names_files(text: str) -> bool:
    """Whether a text names a file, so that only a look can tell what is true of it."""
    return any(len(found[0]) > 3 and "." not in found[0][:2] for found in _FILE.finditer(text))


def _claims(answer: str) -> Iterator[str]:
    for match in _QUOTED.finditer(answer):
        yield next(filter(None, match.groups()))
    bare = _QUOTED.sub(" ", answer)
    yield from (match[0] for match in _FILE.finditer(bare))
    rest = _FILE.sub(" ", bare)
    yield from (match[0] for match in _TIME.finditer(rest))
    yield from (match[0] for match in _NUMBER.finditer(_TIME.sub(" ", rest)))


def _numbers(text: str) -> Iterator[float]:
    return chain(_values(text), _listed(text), [float(_lines(text))])


def _stands(claim: str, whole: str, numbers: Sequence[float]) -> bool:
    told, values = _plain(claim), [*_values(claim)]
    is_number = values and _NUMBER.fullmatch(told)  # a version such as 1.2.3 is none
    if not is_number and (told in whole or told.rsplit("/", 1)[-1] in whole):
        return True
    parts = list(_listed(claim))
    listed = len(parts) > 1 and all(_is_near(value, numbers) for value in parts)
    return listed or any(_is_near(value, numbers) for value in values)


def _is_near(value: float, numbers: Sequence[float]) -> bool:
    """Whether a number is one of these, in order, to as many places as it has."""
    places = len(repr(value).partition(".")[2]) if value % 1 else 0
    first = bisect_left(numbers, value - 10.0**-places)
    close = takewhile(lambda seen: seen <= value + 10.0**-places, islice(numbers, first, None))
    return any(value in {round(seen, places), float(f"{seen:.{places}f}")} for seen in close)


def _values(text: str) -> Iterator[float]:
    """The numbers in a text, with a point or a comma before the decimals, thousands parted or not."""
    for match in _NUMBER.finditer(text):
        yield from _floats({_GROUPS.sub("", match[0]).replace(",", ".")})


def _listed(text: str) -> Iterator[float]:
    """The numbers of lists such as 1,234: what parts thousands parts them too."""
    for match in _NUMBER.finditer(text):
        yield from _floats(set(re.split(r"[,' \u00a0\u202f]", match[0])))


def _floats(forms: set[str]) -> Iterator[float]:
    for form in forms:
        with suppress(ValueError):
            yield float(form)


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_EDGES)
