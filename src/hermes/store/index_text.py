"""Text as the search index takes it, so that words of any script are found: letters of scripts that put no
space between words stand alone, and so do symbols, each as a name of its own.
"""

import re
import unicodedata
from itertools import pairwise
from typing import Final

from hermes.lib.text import mend_surrogates

LONGEST: Final = 2_048
"""Characters of a query that are looked at."""
MOST_WORDS: Final = 32
MOST_TOLD: Final = 100
"""Different words of a message that are looked for."""
LONGEST_TERM: Final = 64
"""A longer word is no word of people; parts of it are found in its beginning."""

_UNSPACED: Final = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_SYMBOLS: Final = "\u2190-\u2bff\u3030\u303d\U0001f000-\U0001fbff"
_ASKED: Final = re.compile(r'"([^"]+)"|([^\s"]+)')
_NAME: Final = "\ue000"
"""Begins the name of a symbol; a letter of private use, which the index takes as part of a word."""
# Compiled at the first search: both take milliseconds, and every start of the program would pay them.
_WORD: Final = rf"(?:[^\W_]|{_NAME})+"
_RUN: Final = rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|{_NAME}))+"


def indexed(text: str) -> str:
    """The text to index."""
    return text if text.isascii() else re.sub(f"[{_UNSPACED}]", r" \g<0> ", _composed(text))


def _composed(text: str) -> str:
    """The text in composed letters, its symbols as names."""
    text = unicodedata.normalize("NFKC", mend_surrogates(text))
    return re.sub(f"[{_SYMBOLS}]", lambda found: f" {_NAME}{ord(found[0]):x} ", text)


def terms(text: str) -> set[str]:
    """The words of an indexed text in the form in which parts of them are looked for."""
    return {
        word[:LONGEST_TERM] for word in re.findall(_WORD, plain(text)) if len(word) > 1 and word[0] != _NAME
    }


def plain(text: str) -> str:
    """The text in small letters without their accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in letters if not unicodedata.combining(one))


def asked(query: str) -> list[str]:
    """The words of a query as they stand in an indexed text; what stands in quotation marks is one of them.

    What has neither letters, digits nor symbols asks for nothing.
    """
    text = mend_surrogates(query).replace("\0", " ")[:LONGEST]
    found = (indexed(together or one).strip() for together, one in _ASKED.findall(text))
    return [one for one in found if re.search(_WORD, one)][:MOST_WORDS]


def told(message: str) -> list[str]:
    """The different words of a message as they stand in an indexed text; where scripts put no space between
    words, each two letters that follow each other.
    """
    runs = re.findall(_RUN, _composed(message.replace("\0", " ")[:LONGEST]))
    words = (word for run in runs for word in _words(run))
    return list({word.lower(): word for word in words}.values())[:MOST_TOLD]


def _words(run: str) -> list[str]:
    if not re.match(f"[{_UNSPACED}]", run) or len(run) == 1:
        return [run]
    return [f"{one} {other}" for one, other in pairwise(run)]


def pieces(word: str) -> list[str]:
    """What a word of a query is made of, each a word or a part of one."""
    return [one[:LONGEST_TERM] for one in re.findall(_WORD, plain(word))]
