"""The words of a text in sentences, as the rules read them: one space between words, addresses as names,
digits as letters.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hermes.safety.text.threats import Index, Needs, Threats

WORDS_AT_ONCE: Final = 200
_STEP: Final = 150

_WORD: Final = re.compile(r"\w+(?:['’@$]\w+)*")
_TOKEN: Final = re.compile(
    r"(?P<url>(?:https?|ftp|wss?)://[^\s<>\"'`)]+|www\.[^\s<>\"'`)]+)"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6})"
    r"|(?P<phone>\+\d[\d ()-]{3,20}\d)"
    r"|(?P<file>[\w-]{1,80}\.(?:md|txt|zip|rar|7z|exe|dmg|msi|scr|iso|pkg|bat|sh|py|json|mode|allow)\b)"
    r"|\w+(?:['’@$]\w+)*|~(?=/)"
)
_KINDS: Final = (("@url", "://"), ("@url", "www."), ("@mail", "@"), ("@phone", "+"))
_ODD: Final = re.compile(r"[a-z](?=.*[0-9@$])|[0-9@$](?=.*[a-z])")
_LETTERS: Final = str.maketrans("0134578@$", "oieastbas")
_OTHER_LETTERS: Final = str.maketrans("0134578@$", "oleastbas")
_TURNED: Final = ("ignore", "disregard", "forget", "instructions", "previous", "password", "secret")


class Sentence(Struct, frozen=True):
    """The words of a stretch of a folded text; `starts` are their places among the words, `places` those in
    the text.
    """

    words: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    start: int
    end: int

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the words stands in the text."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, max(start, end - 1)) - 1
        low, high = sorted((self.places[first], self.places[last]))
        return low[0], high[1]


class TextReading(Struct, frozen=True):
    """What is known of a text's words: the sayings that each makes worth a look, and how some are spelt
    rightly.
    """

    needs: Needs
    anchors: Mapping[str, tuple[int, ...]]
    spelt: Mapping[str, str]
    turns: frozenset[str]

    def wanted(self, words: set[str]) -> set[int]:
        """The sayings that a stretch with these words has all the parts of."""
        if not words.isdisjoint(self.turns):
            return set(range(len(self.needs.of)))
        sayings = {number for word in words & self.anchors.keys() for number in self.anchors[word]}
        if not sayings:
            return sayings
        parts = {part for word in words for part in self.needs.parts.of(self.spelt.get(word, word))}
        return {number for number in sayings if self.needs.of[number] <= parts}

    def sentences(self, text: str, start: int, end: int) -> Iterator[Sentence]:
        """A stretch as sentences: as it is, and turned back where its words are written backwards or by
        rot13.
        """
        for sentence in self._pieces(text, start, end):
            yield sentence
            if self.turns and any(word in self.turns for word in sentence.words.split()):
                yield _changed(sentence, codecs.decode(sentence.words, "rot13"))
                yield _backwards(sentence)

    def _pieces(self, text: str, start: int, end: int) -> Iterator[Sentence]:
        tokens = [(self._normalised(one), one.span()) for one in _TOKEN.finditer(text, start, end)]
        for at in range(0, max(1, len(tokens) - (WORDS_AT_ONCE - _STEP)), _STEP):
            piece = tokens[at : at + WORDS_AT_ONCE]
            if piece:
                yield _sentence(piece, text, start, end)

    def _normalised(self, token: re.Match[str]) -> str:
        kind = token.lastgroup
        if kind is None or kind == "file":
            word = token[0].replace("’", "'")
            return self.spelt.get(word, word)
        return f"@{kind}"


def words_of(text: str, start: int, end: int) -> set[str]:
    """The words of a stretch."""
    return set(_WORD.findall(text, start, end))


def kinds_of(text: str, start: int, end: int) -> set[str]:
    """The kinds of addresses that a stretch may hold, as a sentence names them."""
    return {kind for kind, mark in _KINDS if text.find(mark, start, end) >= 0}


def reading(vocabulary: set[str], table: Threats, *, weak: bool) -> TextReading:
    """What the words of a folded text are."""
    needs = table.weak_needs if weak else table.needs
    spelt = dict(_spelt(vocabulary, table.spelt))
    anchors = {word: found for word in vocabulary if (found := needs.anchors.of(spelt.get(word, word)))}
    return TextReading(needs, anchors, spelt, frozenset(vocabulary & _TURNED_WORDS))


def _sentence(tokens: list[tuple[str, tuple[int, int]]], text: str, start: int, end: int) -> Sentence:
    starts, at = [], 0
    for word, _ in tokens:
        starts.append(at)
        at += len(word) + 1
    whole = tokens[0][1][0], tokens[-1][1][1]
    first = (
        whole[0]
        if text[start : whole[0]].strip()
        else start + len(text[start : whole[0]]) - len(text[start : whole[0]].lstrip())
    )
    last = start + len(text[start:end].rstrip()) if whole[1] <= end else whole[1]
    near = last if last - whole[1] < _STEP else whole[1]
    return Sentence(
        " ".join(word for word, _ in tokens), tuple(starts), tuple(place for _, place in tokens), first, near
    )


def _changed(sentence: Sentence, words: str) -> Sentence:
    return Sentence(words, sentence.starts, sentence.places, sentence.start, sentence.end)


def _backwards(sentence: Sentence) -> Sentence:
    words = sentence.words[::-1]
    starts = [0, *(at + 1 for at, letter in enumerate(words) if letter == " ")]
    return Sentence(words, tuple(starts), sentence.places[::-1], sentence.start, sentence.end)


def _spelt(vocabulary: set[str], known: Index) -> Iterator[tuple[str, str]]:
    """Words whose digits stand for letters, when that makes them words of the table."""
    for word in vocabulary:
        if "’" in word:
            yield word, word.replace("’", "'")
        if word.isalpha() or not (_ODD.search(word) and len(word) < 30):
            continue
        for table in (_LETTERS, _OTHER_LETTERS):
            plain = word.translate(table)
            if plain != word and known.of(plain):
                yield word, plain
                break
        else:
            if sum(letter.isalpha() for letter in word) >= 2 and word.translate(_OTHER_LETTERS) in {
                "all",
                "tell",
                "the",
                "above",
                "your",
            }:
                yield word, word.translate(_OTHER_LETTERS)


_TURNED_WORDS: Final = frozenset(
    {codecs.decode(word, "rot13") for word in _TURNED} | {word[::-1] for word in _TURNED}
)
