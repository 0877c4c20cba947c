"""Words in letters that are not what they look like: two scripts in one word, styled letters for plain."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from hermes.safety.text.spans import TextSpan

_LIKE_LATIN: Final = "асеорхуіјѕһԁԛԝӏАВСЕНІЈКМОРЅТХУѴԌɡαεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧοսօոցհ"
_GREEK: Final = re.compile("[\u0370-\u03fe]")
_OMICRON: Final = frozenset("οΟ")
_SEAM: Final = re.compile(f"[A-Za-z][{_LIKE_LATIN}]|[{_LIKE_LATIN}][A-Za-z]")
_WORD: Final = re.compile(r"\w{1,80}")
_LATIN: Final = re.compile("[A-Za-z]")
_STYLED: Final = re.compile(
    "(?:[\uff21-\uff3a\uff41-\uff5a]{3,}|[\U0001d400-\U0001d6a3]{3,}|[\u24b6-\u24e9]{3,}|[\U0001f130-\U0001f189]{3,}"
    "|[\u1d00-\u1d22\u0262\u026a\u0274\u0280\u028f\u0299\u029c\u029f\ua730\ua731]{3,})"
)
_WIDE_IN_WORD: Final = re.compile("[A-Za-z][\uff21-\uff3a\uff41-\uff5a]|[\uff21-\uff3a\uff41-\uff5a][A-Za-z]")
_GAP: Final = 3
_ENOUGH: Final = 2
_LONG: Final = 5
_LAST_FULL_WIDTH: Final = "\uffff"
_SHORTEST: Final = 4


def disguised(text: str) -> Iterator[TextSpan]:
    """The words with look-alikes of another script, and rows of styled words."""
    if text.isascii():
        return
    for start, end in _mixed(text):
        yield TextSpan(
            start=start,
            end=end,
            kind="disguised",
            rule="mixed-scripts",
            why="a word mixes letters of two scripts that look alike",
        )
    for found in _WIDE_IN_WORD.finditer(text):
        yield _of_letters(found.start(), found.end(), text)
    yield from _styled(text)


def _mixed(text: str) -> Iterator[tuple[int, int]]:
    done = 0
    for seam in _SEAM.finditer(text):
        if seam.start() < done:
            continue
        start = seam.start()
        while start > done and text[start - 1].isalnum():
            start -= 1
        word = _WORD.match(text, start)
        done = max(word.end() if word else 0, seam.end())
        if _is_disguise(text[start:done]):
            yield start, done


def _is_disguise(word: str) -> bool:
    """Whether only a disguise explains the mixture: each foreign letter looks Latin, and one stands before a
    Latin one; an ending behind a Latin name, or a symbol in front of one, is none.
    """
    foreign = [at for at, letter in enumerate(word) if letter.isalpha() and not letter.isascii()]
    latin = [found.start() for found in _LATIN.finditer(word)]
    if len(word) < _SHORTEST or len(latin) < _ENOUGH or foreign[0] > latin[-1]:
        return False
    if not all(word[at] in _LIKE_LATIN for at in foreign):
        return False
    symbol = len(foreign) == 1 and _GREEK.match(word[foreign[0]]) and word[foreign[0]] not in _OMICRON
    return not symbol


def _styled(text: str) -> Iterator[TextSpan]:
    """Rows of words in full-width or mathematical letters."""
    row: list[re.Match[str]] = []
    for word in [*_STYLED.finditer(text), None]:
        if row and (word is None or word.start() - row[-1].end() > _GAP):
            if len(row) >= _ENOUGH or (len(row[0][0]) >= _LONG and row[0][0] > _LAST_FULL_WIDTH):
                yield _of_letters(row[0].start(), row[-1].end(), text)
            row = []
        if word is not None:
            row.append(word)


def _of_letters(start: int, end: int, text: str) -> TextSpan:
    said = unicodedata.normalize("NFKC", text[start:end][:80])
    return TextSpan(
        start=start,
        end=end,
        kind="disguised",
        rule="styled-letters",
        why=f"letters of another form say “{said}”",
    )
