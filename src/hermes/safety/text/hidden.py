"""Words where people do not see them: comments, markup that is not shown, descriptions of images."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hermes.safety.text.code import CodeMap
from hermes.safety.text.prose import is_order, is_prose
from hermes.safety.text.roles import is_addressed
from hermes.safety.text.spans import TextSpan

_COMMENT: Final = re.compile(
    r"<!--|^\[(?:(?://|comment)\]: ?(?:#|<>)?|[^\]\n]{1,80}\]: ?(?:#|<>)(?=\s))|\{/\*"
    r"|^\.\. (?![\w-]+::|[_|\[])|^%% ?(?=\S)",
    re.MULTILINE,
)
_MARKS: Final = ("<!--", "]:", "{/*", ".. ", "%%")
_CLOSING: Final = {"<!--": "-->", "{/*": "*/}"}
_APART: Final = re.compile(r"<(?:noscript|template|desc|metadata)\b", re.IGNORECASE)
_LONGEST_COMMENT: Final = 4_000
_TAG: Final = re.compile(r"<([A-Za-z][A-Za-z0-9-]{0,20})\b[^<>]{0,600}>")
_NEVER_SHOWN: Final = re.compile(
    r"font-size\s{0,3}:\s{0,3}(?:0|[01](?:\.\d)?(?:px|pt)|0?\.\d)(?![\d.])|opacity\s{0,3}:\s{0,3}0(?:\.0)?(?![\d.])"
    r"|(?:left|top|text-indent|margin-left)\s{0,3}:\s{0,3}-\d{3,6}|clip\s{0,3}:\s{0,3}rect\(\s?0"
    r"|scale\(\s?0\s?\)|inset\(\s?(?:100|50)%",
    re.IGNORECASE,
)
_SHOWN_BY_PROGRAM: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}(?:hidden|collapse)|\shidden(?=[\s>=/])|type=[\"']?hidden"
    r"|(?:max-)?(?:height|width)\s{0,3}:\s{0,3}[01](?:px)?(?![\d.%])",
    re.IGNORECASE,
)
_WHITE: Final = re.compile(
    r"(?<![-\w])color\s{0,3}[:=]\s{0,3}[\"']?(?:#fff(?:fff)?\b|white\b|transparent\b|rgba?\(\s?255\s?,\s?255\s?,\s?255"
    r"|rgba\([^)]{3,30},\s?0(?:\.0)?\s?\))",
    re.IGNORECASE,
)
_DARK: Final = re.compile(
    r"background(?:-color)?\s{0,3}:\s{0,3}(?!#fff(?:fff)?\b|white\b|transparent\b)", re.IGNORECASE
)
_HANDLE: Final = re.compile(r"\s(?:id|class|data-[\w-]{1,30}|x-[\w-]{1,20}|v-[\w-]{1,20}|:[\w-]{1,20})\s?=")
_ATTRIBUTE: Final = re.compile(
    r"\b(?:alt|title|aria-label|aria-description|data-[a-z-]{1,30}|content|value|summary|placeholder)"
    r"\s?=\s?(?:\"([^\"]{12,2000})\"|'([^']{12,2000})')",
    re.IGNORECASE,
)
_LINK_TITLE: Final = re.compile(r"\]\([^()\s\]]{1,500} [\"']([^\"')]{12,1000})[\"']\)")
_LONGEST_DESCRIPTION: Final = 1_000
_EMPTY: Final = re.compile(r"<(?:input|img|br|hr|meta|link|source)\b", re.IGNORECASE)
_INNER: Final = 2_000


class Area(Struct, frozen=True):
    """A stretch that is not shown, the part of it that holds the words, and why it is not shown; `bare`: not
    even a program would show it.
    """

    start: int
    end: int
    first: int
    last: int
    why: str
    bare: bool = False


def hidden(text: str, code: CodeMap) -> Iterator[TextSpan]:
    """The parts of a text that are not shown and speak: with words that a role is told, or with prose that
    nothing could ever show. Notes of authors to each other, such as comments, are left alone.
    """
    for area in (*_unrendered(text), *_described(text)):
        words = _words(text, area)
        speaks = is_addressed(words) or (area.bare and is_prose(words))
        if speaks and not code.shows(area.start, area.end):
            yield _span(area, f"words to a reader stand in {area.why}")


def unrendered(text: str) -> Iterator[TextSpan]:
    """The comments and the markup that is not shown of a text in Markdown which hold prose or a command,
    whoever is meant: in a text that only a model reads, notes of authors to each other have no place.
    """
    code = CodeMap(text)
    for area in _unrendered(text):
        words = _words(text, area)
        speaks = any(is_prose(part) or is_order(part) for part in (words, *words.splitlines()))
        if speaks and not code.shows(area.start, area.end):
            yield _span(area, f"whoever reads the page does not see what stands in {area.why}")


def _words(text: str, area: Area) -> str:
    return text[area.first : area.last].strip(" \t\n-!#()")


def _span(area: Area, why: str) -> TextSpan:
    rule = area.why.replace(" ", "-")
    return TextSpan(start=area.start, end=area.end, kind="hidden", rule=rule, why=why)


def _unrendered(text: str) -> Iterator[Area]:
    if "<" in text:
        yield from _elements(text)
    if any(mark in text for mark in _MARKS):
        yield from _comments(text)


def _described(text: str) -> Iterator[Area]:
    if "=" in text:
        for tag in _TAG.finditer(text):
            yield from _attributes(tag)
    if "](" in text:
        yield from _descriptions(text)


def _descriptions(text: str) -> Iterator[Area]:
    """What stands for an image, and the titles of links."""
    done, end = 0, text.find("](")
    while end >= 0:
        start = text.rfind("![", max(done, end - _LONGEST_DESCRIPTION), end)
        if start >= 0:
            yield Area(start, end + 2, start + 2, end, "a description of an image")
        done, end = end, text.find("](", end + 2)
    for found in _LINK_TITLE.finditer(text):
        yield Area(found.start(), found.end(), found.start(1), found.end(1), "the title of a link")


def _comments(text: str) -> Iterator[Area]:
    done = 0
    for opened in _COMMENT.finditer(text):
        if opened.start() < done:
            continue
        closing = _CLOSING.get(opened[0], "\n")
        end = text.find(closing, opened.end(), opened.end() + _LONGEST_COMMENT)
        last = end if end >= 0 else min(len(text), opened.end() + _LONGEST_COMMENT)
        done = last + (len(closing) if end >= 0 and closing != "\n" else 0)
        yield Area(opened.start(), done, opened.end(), last, "a comment")


def _elements(text: str) -> Iterator[Area]:
    done = 0
    for tag in _TAG.finditer(text):
        bare = _is_bare(tag[0])
        unshown = bare or _SHOWN_BY_PROGRAM.search(tag[0]) or _APART.match(tag[0])
        if unshown and tag.start() >= done and not _EMPTY.match(tag[0]):
            end = text.find(f"</{tag[1]}", tag.end(), tag.end() + _INNER)
            done = end if end >= 0 else min(len(text), tag.end() + _INNER)
            yield Area(tag.start(), done, tag.end(), done, "markup that is not shown", bare)


def _attributes(tag: re.Match[str]) -> Iterator[Area]:
    for value in _ATTRIBUTE.finditer(tag[0]):
        start, end = (tag.start() + one for one in value.span())
        first, last = (tag.start() + one for one in value.span(1 if value[1] else 2))
        yield Area(start, end, first, last, "an attribute")


def _is_bare(tag: str) -> bool:
    """Whether nothing shows what is in it: no program has a handle to do so."""
    if _NEVER_SHOWN.search(tag):
        return True
    if _HANDLE.search(tag):
        return False
    white = _WHITE.search(tag) is not None and not _DARK.search(tag)
    return white or _SHOWN_BY_PROGRAM.search(tag) is not None
