"""A text without what is hidden, encoded or forged in it: each stretch replaced by a notice that a person can
act on, the rest as it was.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection
from typing import Final

from msgspec import Struct

from hermes.safety.text.invisible import INVISIBLE
from hermes.safety.text.scan import scan
from hermes.safety.text.spans import TextSpan

_UNSEEN: Final = re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f{INVISIBLE}\ud800-\udfff]")
_DIGITS: Final = 16


class QuarantineFinding(Struct, frozen=True, kw_only=True):
    """A span as a person sees it: line and column count from 1, `text` spells out what cannot be seen, `hash`
    names it in an allowance.
    """

    span: TextSpan
    line: int
    column: int
    text: str
    hash: str


class Quarantined(Struct, frozen=True, kw_only=True):
    """What is left of a text, and what was taken out of it."""

    text: str
    findings: tuple[QuarantineFinding, ...]


def quarantine(text: str, allowed: Collection[str] = (), phrases: Collection[str] = ()) -> Quarantined:
    """`text` with a notice for each span that is found and whose hash is not among `allowed`; what matches
    one of the `phrases` is found too.
    """
    found = findings(text, allowed, phrases)
    pieces: list[str] = []
    last = 0
    for one in found:
        pieces += (text[last : one.span.start], notice(one))
        last = one.span.end
    return Quarantined(text="".join([*pieces, text[last:]]), findings=found)


def findings(
    text: str, allowed: Collection[str] = (), phrases: Collection[str] = ()
) -> tuple[QuarantineFinding, ...]:
    """The spans of a text whose hash is not among `allowed`, with their places."""
    spans = scan(text, phrases)
    if not spans:
        return ()
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    every = (_finding(text, span, lines) for span in spans)
    return tuple(one for one in every if one.hash not in allowed)


def notice(finding: QuarantineFinding) -> str:
    """What stands where a span was."""
    size = finding.span.end - finding.span.start
    return (
        f"[{size} characters were taken out here because {finding.span.why} ({finding.span.kind}). "
        f"hermes scan shows them; security.allow_text with {finding.hash} lets them through.]"
    )


def hash_of(text: str) -> str:
    """The name of a stretch of text in an allowance."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def visible(text: str) -> str:
    """`text` with each character that cannot be seen spelt out, such as <U+200B>."""
    return _UNSEEN.sub(lambda found: "".join(f"<U+{ord(one):04X}>" for one in found[0]), text)


def _finding(text: str, span: TextSpan, lines: list[int]) -> QuarantineFinding:
    line = bisect_right(lines, span.start)
    words = text[span.start : span.end]
    return QuarantineFinding(
        span=span,
        line=line,
        column=span.start - lines[line - 1] + 1,
        text=visible(words),
        hash=hash_of(words),
    )
