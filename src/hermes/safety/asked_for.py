"""Whether text from outside can have asked for a command: told by what it says, in whatever spelling.

It is asked only of commands whose very words a person allowed before the text came, so that no text can have
chosen them; what is left to find is one that wants them run now. Whatever cannot be told counts as a yes.
"""

import codecs
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from hermes.lib.lazy import import_object
from hermes.safety.decide import Verdict
from hermes.safety.text.encoded import decodings, unescaped
from hermes.types.action import Command

MOST: Final = 40_000
"""Longer text is not looked through: each decision waits for it."""

_WORD: Final = re.compile(r"[^\s'\"`;|&<>(){}$=,]+")
_PART: Final = re.compile(r"[^\W_]+")
_SCHEME: Final = re.compile(r"^\w+://")
_TAG: Final = re.compile(r"<[^<>]*>|[*_`~]")
_DIGITS: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
_FOREIGN: Final = re.compile(r"[^\W\d_a-z]")
_FEWEST: Final = 2
_LONG: Final = 4
_KIND: Final = 5
_LIKE: Final = str.maketrans("013457@$!|", "oieastasil")
_GAP: Final = r"[\W_]{0,8}"


def can_have_asked(texts: Sequence[str], action: Command, verdict: Verdict) -> bool:
    """Whether one of these texts names the command, its words or what kind of thing it does; or may say what
    cannot be read here: letters of another script, words that are hidden or encoded, or too much.
    """
    told, own = "\n".join(texts), _words_of(action, verdict)
    if len(told) > MOST or not own:
        return True
    named = sorted(own | _kinds(verdict))
    names = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(_spelling, named))})")
    if any(_FOREIGN.search(form) or names.search(form) for form in _forms(told)):
        return True
    scan = import_object("hermes.safety.text.scan:scan")  # what it takes is imported when it is needed
    return bool(scan(told))


def _words_of(action: Command, verdict: Verdict) -> set[str]:
    """The words of a command's line that tell it from others; a line of letters and marks has none."""
    words = [*_WORD.findall(action.command), *action.needs.hosts]
    words += [word for one in verdict.commands for word in (one.program, *one.argv)]
    return {part for word in words for part in _parts(_folded(word))}


def _kinds(verdict: Verdict) -> set[str]:
    """The words for what a command does."""
    return {_folded(word) for kind in verdict.classes for word in kind.split() if len(word) >= _KIND}


def _parts(word: str) -> Iterable[str]:
    """The parts of a word between its marks: the long ones, or all where there is none."""
    parts = [one for one in _PART.findall(_SCHEME.sub("", word)) if len(one) >= _FEWEST]
    return [one for one in parts if len(one) >= _LONG] or parts


def _spelling(word: str) -> str:
    """An expression for a word whose letters may stand apart; one for a long word fits longer ones, too."""
    return _GAP.join(word) + ("(?![^\\W_])" if len(word) < _LONG else "")


def _forms(text: str) -> Iterator[str]:
    """A text as it is read: as it stands, without markup, backwards, turned, and what digits in it stand
    for.
    """
    plain = unescaped(unquote(html.unescape(text)))
    folded = _folded(plain)
    yield folded
    yield _TAG.sub("", folded)
    yield folded[::-1]
    yield codecs.encode(folded, "rot13")
    yield _folded("\n".join(_decoded(plain)))


def _folded(text: str) -> str:
    """A text without accents, case, and digits that stand for letters."""
    letters = unicodedata.normalize("NFKD", text)
    if not letters.isascii():
        letters = "".join(one for one in letters if not unicodedata.combining(one))
    return letters.casefold().translate(_LIKE)


def _decoded(text: str) -> Iterator[str]:
    """What words of a text say that may be digits of a coding."""
    for found in _DIGITS.finditer(text):
        for _, data in decodings(found[0]):
            with suppress(UnicodeDecodeError):
                yield data.decode("ascii")
