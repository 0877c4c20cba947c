"""What people do not see in a text: characters without a shape, writing that runs backwards, and markup that
is not shown.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
_FLAG: Final = "\U0001f3f4"
_LONGEST_FLAG: Final = 8
_BETWEEN: Final = re.compile("(?<=[A-Za-z])[\u200b\u200c\u200d\u2060\u2061-\u2064\ufeff]+(?=[A-Za-z])")
_RUN: Final = re.compile("[\u200b\u200c\u200d\u2060-\u2064\ufeff\u180e\u115f\u1160\u3164\uffa0]{4,}")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TURNING: Final = "\u202d\u202e"
_ANY_ODD: Final = re.compile(
    "[\u180e\u115f\u1160\u3164\uffa0\u200b-\u200d\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_CONCEALED: Final = re.compile(r"\x1b\[(?:[0-9;]{0,12};)?8m")

_COMMENT: Final = re.compile(r"<!--|\[//\]: ?#|\[comment\]: ?(?:#|<>)|<!---")
_LONGEST_COMMENT: Final = 4_000
_TAG: Final = re.compile(r"<[a-z][a-z0-9-]{0,20}\b[^<>]{0,600}>")
_UNSHOWN: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}(?:hidden|collapse)|font-size\s{0,3}:\s{0,3}(?:0|[01](?:\.\d)?(?:px|pt|em|rem)|0?\.\d)"
    r"|opacity\s{0,3}:\s{0,3}0(?:\.0)?\b(?!\.)|(?:^|[;\"'\s])color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white\b|transparent|rgba?\(\s?255\s?,\s?255\s?,\s?255)"
    r"|(?:left|top|text-indent|margin-left)\s{0,3}:\s{0,3}-\d{3,6}(?:px|em|rem)?|clip\s{0,3}:\s{0,3}rect\(\s?0|(?:height|width|max-height)\s{0,3}:\s{0,3}[01]px"
    r"|color=[\"']?(?:white|#fff(?:fff)?)\b|\shidden(?=[\s>=/])|aria-hidden\s?=\s?[\"']?true|<(?:template|noscript)\b|type=[\"']?hidden"
)
_ATTRIBUTE: Final = re.compile(
    r"\b(?:alt|title|aria-label|aria-description|data-[a-z-]{1,30}|content|value|summary)\s?=\s?(?:\"([^\"]{12,2000})\"|'([^']{12,2000})')"
)
_IMAGE: Final = re.compile(r"!\[([^\]]{12,1000})\]\(|\]\([^)\s]{1,500} [\"']([^\"')]{12,1000})[\"']\)")
_INNER: Final = 2_000


class Area(Struct, frozen=True):
    """A stretch that is not shown, the part of it that holds the words, and why it is not shown."""

    start: int
    end: int
    first: int
    last: int
    why: str

    def inner(self, text: str) -> str:
        """Its words."""
        return text[self.first : self.last].strip(" \t\n-!#")


def oddities(text: str) -> Iterator[tuple[int, int, str, str, str]]:
    """Characters that hide or turn: start, end, rule, kind and reason of each."""
    yield from _concealed(text)
    if text.isascii() or not _ANY_ODD.search(text):
        return
    for run in _TAGS.finditer(text):
        if not (text[run.start() - 1 : run.start()] == _FLAG and len(run[0]) < _LONGEST_FLAG):
            yield (
                run.start(),
                run.end(),
                "tag-characters",
                "invisible",
                f"characters without a shape say “{_spelt(run[0])}”",
            )
    for run in _BETWEEN.finditer(text):
        yield (
            *_word_around(text, run.start(), run.end()),
            "invisible-in-word",
            "invisible",
            "invisible characters stand inside a word",
        )
    for run in _RUN.finditer(text):
        yield (
            run.start(),
            run.end(),
            "invisible-run",
            "invisible",
            f"{len(run[0])} invisible characters in a row can carry a message",
        )
    for run in _SELECTORS.finditer(text):
        yield (
            run.start(),
            run.end(),
            "selector-run",
            "invisible",
            f"{len(run[0])} variation selectors in a row can carry a message",
        )
    yield from _turned(text)


def areas(text: str) -> Iterator[Area]:
    """The parts of a folded text's markup that are not shown."""
    if "<" in text:
        yield from _comments(text)
        yield from _elements(text)
    if "](" in text:
        for found in _IMAGE.finditer(text):
            which = 1 if found[1] else 2
            yield Area(
                found.start(),
                found.end(),
                found.start(which),
                found.end(which),
                "in the description of an image or link",
            )
    if "[//]:" in text or "[comment]:" in text:
        yield from _comments(text)


def _concealed(text: str) -> Iterator[tuple[int, int, str, str, str]]:
    if "\x1b" in text:
        for found in _CONCEALED.finditer(text):
            shown = text.find("\x1b[", found.end(), found.end() + _INNER)
            yield (
                found.start(),
                shown if shown > 0 else found.end(),
                "concealed",
                "hidden",
                "terminal codes make the text invisible",
            )


def _spelt(tags: str) -> str:
    letters = "".join(chr(ord(one) - 0xE0000) for one in tags)
    return "".join(one for one in letters if one.isprintable())[:80]


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    while start and (text[start - 1].isalnum()) and end - start < 80:
        start -= 1
    while end < len(text) and text[end].isalnum() and end - start < 160:
        end += 1
    return start, end


def _turned(text: str) -> Iterator[tuple[int, int, str, str, str]]:
    """Characters that turn the direction of writing, where nothing is written from right to left or an order
    is reversed by force.
    """
    done = -1
    for found in _BIDI.finditer(text):
        if found.start() < done:
            continue
        start = (
            text.rfind("\n", 0, found.start()) + 1
            if found.start() - done < _INNER
            else max(0, found.start() - _INNER)
        )
        end = text.find("\n", found.end())
        done = min(end if end >= 0 else len(text), found.start() + _INNER)
        marks = [
            text[at]
            for at in range(found.start(), done)
            if "\u202a" <= text[at] <= "\u202e" or "\u2066" <= text[at] <= "\u2069"
        ]
        if any(mark in _TURNING for mark in marks) or not (
            _RIGHT_TO_LEFT.search(text, start, done) or set(marks) <= {"\u2068", "\u2069"}
        ):
            last = max(at for at in range(found.start(), done) if text[at] in marks)
            yield (
                found.start(),
                last + 1,
                "turned-writing",
                "bidirectional",
                "control characters change the order in which the text is shown",
            )


def _comments(text: str) -> Iterator[Area]:
    done = 0
    for opened in _COMMENT.finditer(text):
        if opened.start() < done:
            continue
        closing = "-->" if opened[0].startswith("<") else "\n"
        end = text.find(closing, opened.end(), opened.end() + _LONGEST_COMMENT)
        last = end if end >= 0 else min(len(text), opened.end() + _LONGEST_COMMENT)
        done = last + (len(closing) if end >= 0 and closing == "-->" else 0)
        yield Area(opened.start(), done, opened.end(), last, "in a comment")


def _elements(text: str) -> Iterator[Area]:
    for tag in _TAG.finditer(text):
        if _UNSHOWN.search(tag[0]):
            end = text.find("</", tag.end(), tag.end() + _INNER)
            last = end if end >= 0 else min(len(text), tag.end() + _INNER)
            yield Area(tag.start(), last, tag.end(), last, "in markup that is not shown")
        if "=" in tag[0]:
            for value in _ATTRIBUTE.finditer(tag[0]):
                which = 1 if value[1] else 2
                first = tag.start() + value.start(which)
                yield Area(
                    first,
                    first + len(value[which]),
                    first,
                    first + len(value[which]),
                    "in an attribute that is not shown",
                )
