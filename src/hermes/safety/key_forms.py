"""Keys by their form, as `tokens.toml` describes them: only those whose beginnings are in a text are looked
for.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

_LETTERS: Final[Mapping[str, str]] = {
    "word": "[A-Za-z0-9]",
    "url": "[A-Za-z0-9_-]",
    "hex": "[a-fA-F0-9]",
    "upper": "[A-Z0-9]",
    "digits": "[0-9]",
    "dots": "[A-Za-z0-9_.-]",
}
_OTHERS: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"  # signed web tokens
    r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}|AC[a-f0-9]{32}(?=:)|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"
    r"|(?<=hooks\.slack\.com/services/)[A-Z0-9]{8,12}/[A-Z0-9]{8,12}/[A-Za-z0-9]{20,}|(?<=/api/webhooks/)[0-9]{16,20}/[A-Za-z0-9_-]{40,}"
    r")(?![A-Za-z0-9])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
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
    tree = tomllib.loads((files("hermes") / "data" / "tokens.toml").read_text(encoding="utf-8"))
    return tuple(Token(**{**entry, "begins": tuple(entry["begins"])}) for entry in tree["token"])


def without_tokens(text: str, mask: str) -> str:
    """`text` with a mask for each key in it."""
    present = tuple(begin for begin in _beginnings() if begin in text)
    if present:
        text = _expression(present).sub(mask, text)
    return _OTHERS.sub(mask, text)


@cache
def _beginnings() -> Mapping[str, str]:
    """By each beginning, what follows it; the longest first."""
    found = {begin: token.body for token in tokens() for begin in token.begins}
    return dict(sorted(found.items(), key=lambda one: (-len(one[0]), one[0])))


@lru_cache(maxsize=64)
def _expression(present: tuple[str, ...]) -> re.Pattern[str]:
    rows = "|".join(re.escape(begin) + _beginnings()[begin] for begin in present)
    return re.compile(f"(?<![A-Za-z0-9_-])(?:{rows})(?![A-Za-z0-9])")
