"""Keys by their form, as `tokens.toml` describes them: only those whose beginnings are in a text are looked
for.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from hermes.lib.data_files import data_table

_LETTERS: Final[Mapping[str, str]] = {
    "word": "[A-Za-z0-9]",
    "url": "[A-Za-z0-9_-]",
    "hex": "[a-fA-F0-9]",
    "upper": "[A-Z0-9]",
    "digits": "[0-9]",
    "dots": "[A-Za-z0-9_.-]",
}
_SHORTEST_OTHER: Final = 20
_AFTER: Final = r"(?![A-Za-z0-9])"
_OTHERS: Final = tuple(
    (sign, re.compile(form + _AFTER))
    for sign, form in (
        (
            "hooks.slack.com/services/",
            r"(?<=hooks\.slack\.com/services/)[A-Z0-9]{8,12}/[A-Z0-9]{8,12}/[A-Za-z0-9]{20,}",
        ),
        ("/api/webhooks/", r"(?<=/api/webhooks/)[0-9]{16,20}/[A-Za-z0-9_-]{40,}"),
        (
            "eyJ",
            r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        ),  # JWT
        (":AA", r"(?<![A-Za-z0-9_-])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
        ("AC", r"AC(?<![A-Za-z0-9_-]AC)[a-f0-9]{32}(?=:)"),
        (".", r"[MNO](?<![A-Za-z0-9_-][MNO])[A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"),
    )
)
"""Keys that no table can hold, each by what stands in every one of them."""


class Token(Struct, frozen=True, kw_only=True):
    """One maker's keys: what they begin with, the kind of letters that follow, and how many at least."""

    maker: str
    begins: tuple[str, ...]
    letters: str
    length: int

    @property
    def body(self) -> str:
        """What follows the beginning; longer words without a digit are words."""
        digit = "" if self.letters == "upper" else r"(?=[A-Za-z_.-]{0,200}\d)"
        return f"{digit}{_LETTERS[self.letters]}{{{self.length},}}"


@cache
def tokens() -> tuple[Token, ...]:
    """The table, read once; a fault in the file is raised as it is."""
    tree = data_table("tokens.toml")
    return tuple(Token(**{**entry, "begins": tuple(entry["begins"])}) for entry in tree["token"])


def without_tokens(text: str, mask: str) -> str:
    """`text` with a mask for each key in it."""
    if not _run().search(text):
        return text
    present = tuple(begin for begin in _beginnings() if begin in text)
    if present:
        text = _expression(present).sub(mask, text)
    for sign, pattern in _OTHERS:
        if sign in text:
            text = pattern.sub(mask, text)
    return text


@cache
def _beginnings() -> Mapping[str, str]:
    """By each beginning, what follows it; the longest first."""
    found = {begin: token.body for token in tokens() for begin in token.begins}
    return dict(sorted(found.items(), key=lambda one: (-len(one[0]), one[0])))


@cache
def _run() -> re.Pattern[str]:
    """So many letters in a row as each key has: most texts have no such word, and none of the keys."""
    known = ((token.length, begin) for token in tokens() for begin in token.begins)
    letters = _LETTERS["dots"]
    least = min(length + (len(begin) if re.fullmatch(f"{letters}+", begin) else 0) for length, begin in known)
    return re.compile(f"{letters}{{{min(least, _SHORTEST_OTHER)}}}")


@lru_cache(maxsize=64)
def _expression(present: tuple[str, ...]) -> re.Pattern[str]:
    """A beginning stands before the look at what is before it: so the places to look at are found quickly."""
    begun = ((re.escape(begin), _beginnings()[begin]) for begin in present)
    rows = "|".join(f"{begin}(?<![A-Za-z0-9_-]{begin}){body}" for begin, body in begun)
    return re.compile(f"(?:{rows}){_AFTER}")
