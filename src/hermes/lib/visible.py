"""Text that a person decides about, with everything visible: control characters, letters that are not seen,
long empty stretches.
"""

import os
import re
import unicodedata
from typing import Final

_LONGEST_GAP: Final = 40
_GAP: Final = re.compile(rf"(?P<space> {{{_LONGEST_GAP},}})|(?P<tab>\t{{8,}})|(?P<line>\n{{4,}})")
_NAMES: Final = {"space": "spaces", "tab": "tabs", "line": "empty lines"}


def visible(text: str) -> str:
    """`text` with characters that would not be seen written as their numbers, and long stretches of nothing
    as their length.
    """
    if text.isascii() and text.isprintable() and " " * _LONGEST_GAP not in text:
        return text
    return _GAP.sub(_length, spelled_out(text))


def spelled_out(text: str) -> str:
    """`text` with characters that would not be seen written as their numbers; lines and columns stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in "\n\t" or not _is_hidden(one) else f"⟨U+{ord(one):04X}⟩" for one in text)


def one_line(path: str) -> str:
    """A path to look at, whatever is in its name."""
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace")).replace("\n", "⟨U+000A⟩")


def _length(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    note = f"⟨{len(found[0])} {_NAMES[kind]}⟩"
    return f"\n{note}\n" if kind == "line" else f" {note} "


def _is_hidden(character: str) -> bool:
    """Control, format, private, unassigned and surrogate characters, odd spaces, and fillers; not the joiners
    inside an emoji.
    """
    if character == " ":
        return False
    if character in "\u200d\ufe0f":
        return False
    return (
        unicodedata.category(character) in {"Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}
        or character in "\u115f\u1160\u3164\uffa0\u2800"
    )
