"""Whether a piece of text is prose: words that stand as in a sentence, in whatever language."""

import re
from typing import Final

ENOUGH: Final = 4
"""So many words are a sentence; fewer are a name, a value or a label."""

_WORD: Final = re.compile(r"[^\w\s]{0,4}[^\W\d_]{1,24}(?:['’-][^\W\d_]{1,24}){0,3}[^\w\s]{0,4}")
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS_OF_A_WORD: Final = 2
_MARKUP: Final = frozenset("<{[")
_VOWELS: Final = frozenset("aeiouy")
_LONGEST: Final = 4_000


def is_prose(text: str) -> bool:
    """Whether a text has enough words, and little else."""
    pieces = text[:_LONGEST].split()
    words = sum(_WORD.fullmatch(piece) is not None for piece in pieces)
    if words >= ENOUGH and words * 2 >= len(pieces):
        return True
    return len(_UNSPACED.findall(text[:_LONGEST])) >= ENOUGH * _LETTERS_OF_A_WORD


def is_phrase(text: str) -> bool:
    """Whether it is two words or more and nothing else."""
    pieces = text.split()
    return len(pieces) > 1 and all(_WORD.fullmatch(piece) for piece in pieces)


def is_order(text: str) -> bool:
    """Whether it could be told or typed to somebody: prose or a command, not markup or data."""
    if text.lstrip()[:1] in _MARKUP:
        return False
    pieces = text[:_LONGEST].split()
    words = sum(_WORD.fullmatch(piece) is not None for piece in pieces)
    return is_prose(text) or (len(pieces) >= ENOUGH and words >= ENOUGH // 2 and words * 2 >= len(pieces))


def has_vowels(text: str) -> bool:
    """Whether nearly all words have a vowel, as those of languages do."""
    words = text.lower().split()
    return sum(not _VOWELS.isdisjoint(word) for word in words) * 5 >= len(words) * 4
