"""Characters without a shape: tags, selectors and zero-width characters that carry or hide words."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.text.spans import TextSpan

INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Characters that take no room, as the inside of a character class."""

_WIDTHLESS: Final = "\u200b\u200c\u200d\u2060-\u2064\ufeff\u180e\u115f\u1160\u3164\uffa0"
_ANY: Final = re.compile(f"[{_WIDTHLESS}\u00ad\u034f\u061c\u200e\u200f\ufe00-\ufe0f\U000e0000-\U000e01ef]")
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_FLAG: Final = "\U0001f3f4"
_LONGEST_FLAG: Final = 8
_BETWEEN: Final = re.compile("(?<=[A-Za-z])[\u200b\u200c\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z])")
_RUN: Final = re.compile(f"[{_WIDTHLESS}\u00ad\u034f\u061c\u200e\u200f]{{4,}}")
_STREWN: Final = re.compile(f"(?:[{_WIDTHLESS}][ -~]{{1,3}}){{8,}}[{_WIDTHLESS}]?")
_SELECTORS: Final = re.compile(
    "[\ufe00-\ufe0d\U000e0100-\U000e01ef]{2,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}"
    "|(?<=[A-Za-z])[\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)
_CONCEALED: Final = re.compile(r"\x1b\[(?:[0-9;]{0,12};)?8m")
_LONGEST: Final = 2_000
_WORD: Final = 80
_SHOWN: Final = 80


def invisible(text: str) -> Iterator[TextSpan]:
    """The stretches of a text whose words or characters are there without being seen."""
    if "\x1b[" in text:
        yield from _concealed(text)
    if text.isascii() or not _ANY.search(text):
        return
    yield from _tags(text)
    yield from _in_words(text)
    for rule, pattern, what in _CARRIERS:
        for run in pattern.finditer(text):
            yield _span(run.start(), run.end(), rule, f"{what} can carry a message")


_CARRIERS: Final = (
    ("invisible-run", _RUN, "invisible characters in a row"),
    ("invisible-strewn", _STREWN, "invisible characters between others"),
    ("selectors", _SELECTORS, "variation selectors where nothing varies"),
)


def _in_words(text: str) -> Iterator[TextSpan]:
    done = 0
    for run in _BETWEEN.finditer(text):
        if run.start() >= done:
            start, done = _word_around(text, run.start(), run.end())
            yield _span(start, done, "invisible-in-word", "invisible characters stand inside a word")


def _tags(text: str) -> Iterator[TextSpan]:
    for run in _TAGS.finditer(text):
        if text[run.start() - 1 : run.start()] != _FLAG or len(run[0]) >= _LONGEST_FLAG:
            letters = "".join(chr(ord(one) - 0xE0000) for one in run[0][:_SHOWN])
            said = "".join(one for one in letters if one.isprintable())
            yield _span(run.start(), run.end(), "tag-characters", f"characters without a shape say “{said}”")


def _concealed(text: str) -> Iterator[TextSpan]:
    for found in _CONCEALED.finditer(text):
        shown = text.find("\x1b[", found.end(), found.end() + _LONGEST)
        end = shown if shown > 0 else found.end()
        yield _span(found.start(), end, "concealed", "terminal codes make the text invisible")


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = max(0, start - _WORD), min(len(text), end + _WORD)
    while start > first and text[start - 1].isalnum():
        start -= 1
    while end < last and text[end].isalnum():
        end += 1
    return start, end


def _span(start: int, end: int, rule: str, why: str) -> TextSpan:
    return TextSpan(start=start, end=end, kind="invisible", rule=rule, why=why)
