"""Words that rot13 hides, told by how often their letters occur."""

import codecs
import math
import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.text.prose import has_vowels, is_prose

_CLAUSE: Final = re.compile(rb"[a-z](?:[a-z'-]|[./](?=[a-z])| (?! )){19,}")
_RARE_IN_CODE: Final = b"tosidwlm"
_RARE_IN_WORDS: Final = b"gbvfqjyz"
_PER_CENT: Final = (
    12.7, 9.1, 8.2, 7.5, 7.0, 6.7, 6.3, 6.1, 6.0, 4.3, 4.0, 2.8, 2.8,
    2.4, 2.4, 2.2, 2.0, 2.0, 1.9, 1.5, 1.0, 0.8, 0.5, 0.5, 0.5, 0.5,
)  # fmt: skip
_ENOUGH_GAIN: Final = 11.0
_MEAN_GAIN: Final = 0.25


def rotated(text: str) -> Iterator[tuple[int, int, str]]:
    """Clauses whose letters are frequent as those of words are only after rot13."""
    letters = text.encode("ascii", "replace").lower()
    for clause in _CLAUSE.finditer(letters):
        piece = clause[0]
        often = len(piece.translate(None, _RARE_IN_WORDS))
        if len(piece) - often > len(piece) - len(piece.translate(None, _RARE_IN_CODE)):
            gain = sum(map(_GAIN.__getitem__, piece))
            if gain >= _ENOUGH_GAIN and gain >= _MEAN_GAIN * len(piece):
                plain = codecs.encode(text[clause.start() : clause.end()], "rot13")
                if is_prose(plain) and has_vowels(plain):
                    yield clause.start(), clause.end(), plain


def _gain() -> tuple[float, ...]:
    """For each byte how much likelier it is in words after rot13 than before, as a logarithm."""
    order = dict(zip(b"etaoinshrdlcumwfgypbvkjxqz", _PER_CENT, strict=True))
    turned = codecs.encode("abcdefghijklmnopqrstuvwxyz", "rot13").encode()
    odds = {one: math.log(order[to] / order[one]) for one, to in zip(range(97, 123), turned, strict=True)}
    return tuple(odds.get(byte, 0.0) for byte in range(256))


_GAIN: Final = _gain()
