"""Text as a reader takes it: lower case, plain letters, nothing invisible; each place in it leads back to the
text it came from.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Characters that take no room, as the inside of a character class."""

_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670"
_LIGATURES: Final = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_UNEVEN: Final = re.compile(f"[{INVISIBLE}{_MARKS}]+|[{''.join(_LIGATURES)}]")
_LOOK_ALIKES: Final = dict(
    zip(
        "асеорхуіјѕһԁԛԝӏɡαεικνορτυχωսօոցհ", "aceopxyijshdqwlgaeiknoptuxwuonqh", strict=True
    )  # Cyrillic, Latin extensions, Greek, Armenian
)
_FOREIGN: Final = "".join(_LOOK_ALIKES)
_SEAM: Final = re.compile(f"[a-z][{_FOREIGN}]|[{_FOREIGN}][a-z]")
_WORD: Final = re.compile(r"\w+")
_STROKED: Final = str.maketrans("łøđðħŧıßœæþ", "lodohtisoat")


class Folded(Struct, frozen=True):
    """A folded text; `mixed` are the words in it that were written with letters of two scripts."""

    text: str
    mixed: tuple[tuple[int, int], ...] = ()
    cuts: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it stands in the text that was folded."""
        if not self.cuts or end <= start:
            return start, end
        return start + self._shift(start), end + self._shift(end - 1)

    def _shift(self, at: int) -> int:
        return self.shifts[bisect_right(self.cuts, at) - 1]


def fold(text: str) -> Folded:
    """`text` folded."""
    if text.isascii():
        return Folded(text.lower())
    even = text.translate(_TABLE)
    pieces: list[str] = []
    cuts, shifts = [0], [0]
    last = length = 0
    for odd in _UNEVEN.finditer(even):
        instead = _LIGATURES.get(odd[0], "")
        pieces += (even[last : odd.start()], instead)
        length += odd.start() - last + len(instead)
        last = odd.end()
        cuts.append(length)
        shifts.append(last - length)
    plain = "".join([*pieces, even[last:]]) if pieces else even
    mixed = tuple(_mixed(plain))
    return Folded(_unmixed(plain, mixed), tuple(_disguised(plain, mixed)), tuple(cuts), tuple(shifts))


def fold_words(words: str) -> str:
    """Words of a table folded as texts are."""
    return fold(words).text


def _mixed(plain: str) -> Iterator[tuple[int, int]]:
    """The words with letters of another script that look like Latin ones beside Latin ones."""
    done = 0
    for seam in _SEAM.finditer(plain):
        if seam.start() < done:
            continue
        start = seam.start()
        while start > done and plain[start - 1].isalnum():
            start -= 1
        word = _WORD.match(plain, start)
        done = word.end() if word else seam.end()
        yield start, done


def _disguised(plain: str, mixed: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    """Those that only a disguise explains: every foreign letter looks Latin, and one stands before a Latin
    one.
    """
    for start, end in mixed:
        word = plain[start:end]
        foreign = [at for at, letter in enumerate(word) if letter.isalpha() and not letter.isascii()]
        latin = [at for at, letter in enumerate(word) if letter.isascii() and letter.isalpha()]
        if (
            len(latin) > 1
            and len(word) > 3
            and foreign[0] < latin[-1]
            and all(word[at] in _LOOK_ALIKES for at in foreign)
        ):
            yield start, end


def _unmixed(plain: str, mixed: tuple[tuple[int, int], ...]) -> str:
    if not mixed:
        return plain
    table = str.maketrans(_LOOK_ALIKES)
    pieces: list[str] = []
    last = 0
    for start, end in mixed:
        pieces += (plain[last:start], plain[start:end].translate(table))
        last = end
    return "".join([*pieces, plain[last:]])


class _Folding(dict[int, int]):
    """One character for one: made for each when it is first met."""

    def __missing__(self, code: int) -> int:
        self[code] = found = ord(_plain(chr(code)))
        return found


def _plain(letter: str) -> str:
    """The lower case of a character without its accents, if that is one character; else itself."""
    lower = letter.lower() if len(letter.lower()) == 1 else letter
    shape = unicodedata.normalize("NFKC", lower)
    shape = shape.lower() if len(shape) == 1 else lower
    parts = unicodedata.normalize("NFKD", shape)
    if "\u3000" < shape < "\ud7ff" or any(not unicodedata.combining(mark) for mark in parts[1:]):
        return shape.translate(_STROKED)  # accents of Japanese and Korean are letters of their own
    return parts[0].translate(_STROKED)


_TABLE: Final = _Folding()
