"""The table of weak signs of an order, `signs.toml`: which signs the words of a text are, and which aims they
may add up to.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct

from hermes.safety.text.folding import fold_words

MOST_PLUS: Final = 3
"""What further signs can add to an aim."""

MOST_OTHERS: Final = 2
"""What other aims of a sentence can add to the heaviest."""

AIDS: Final = 2
"""The points from which another aim adds one."""

_EAST_ASIAN: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_STEM: Final = 3


class Aim(Struct, frozen=True, kw_only=True):
    """What an act and an object near each other ask for; the words in `signs.toml` say what each field is."""

    id: str
    kind: str
    why: str
    act: str
    object: str
    within: int
    points: int
    also: tuple[str, ...] = ()
    plus: tuple[str, ...] = ()
    denied: bool = False
    claim: bool = False
    either: bool = False

    def most(self, plus: int) -> int:
        """The points it can have where so many bits of its further signs are set."""
        return self.points + (not self.claim) + min(MOST_PLUS, plus.bit_count())


class Speech(Struct, frozen=True, kw_only=True):
    """Words that tell orders from what is told: those an order begins behind, and those that deny it."""

    openers: frozenset[str]
    modals: frozenset[str]
    addressed: frozenset[str]
    before_to: frozenset[str]
    told: frozenset[str]
    adverbs: frozenset[str]
    denials: frozenset[str]


class LexiconEntry(Struct, frozen=True):
    """A word or phrase of the table: the words after its first, the sign it is, and whether its form alone
    makes it an order.
    """

    rest: tuple[str, ...]
    sign: str
    orders: bool


class Sign(Struct, frozen=True):
    """A sign among the words of a sentence."""

    start: int
    end: int
    orders: bool


class Signs(Struct, frozen=True, kw_only=True):
    """All of `signs.toml`; `bits` has a bit for each sign, `masks` for each aim those that it needs and those
    that add to it.
    """

    aims: tuple[Aim, ...]
    masks: tuple[tuple[Aim, int, int], ...]
    bits: Mapping[str, int]
    whole: Mapping[str, tuple[LexiconEntry, ...]]
    stems: Mapping[str, tuple[tuple[str, LexiconEntry], ...]]
    pieces: re.Pattern[str]


@cache
def signs() -> Signs:
    """The table, read once; a fault in the file is raised as it is."""
    tree = _tree()
    aims = tuple(_aim(entry) for entry in tree["aim"])
    bits = {name: 1 << number for number, name in enumerate(sorted({*tree["signs"], *tree["abroad"]}))}
    whole: dict[str, list[LexiconEntry]] = {}
    stems: dict[str, list[tuple[str, LexiconEntry]]] = {}
    for first, entry in _entries(tree):
        if first.endswith("*") and len(first) > _STEM:
            stems.setdefault(first[:_STEM], []).append((first[:-1], entry))
        else:
            whole.setdefault(first, []).append(entry)
    east_asian = sorted((word for word in whole if _EAST_ASIAN.search(word)), key=len, reverse=True)
    return Signs(
        aims=aims,
        masks=tuple(
            (aim, _bits(bits, {aim.act, aim.object, *aim.also}), _bits(bits, aim.plus)) for aim in aims
        ),
        bits=bits,
        whole={word: tuple(found) for word, found in whole.items()},
        stems={stem: tuple(found) for stem, found in stems.items()},
        pieces=re.compile("|".join(map(re.escape, east_asian))),
    )


@cache
def speech() -> Speech:
    """The words of the table that say how an act is said."""
    return Speech(**{name: frozenset(words.split()) for name, words in _tree()["speech"].items()})


def possible(words: set[str], enough: int) -> tuple[Aim, ...]:
    """The aims of which a stretch with these words has all the signs; none where they cannot add up to
    `enough` points.
    """
    table = signs()
    mask = 0
    for word in words:
        mask |= _mask(word)
        for first, rest, bit in _phrases(word):
            if first in words and rest.issubset(words):
                mask |= bit
    near = [(aim, aim.most(mask & plus)) for aim, needed, plus in table.masks if mask & needed == needed]
    if not near:
        return ()
    others = min(MOST_OTHERS, sum(points >= AIDS for _, points in near) - 1)
    return (
        tuple(aim for aim, _ in near) if max(points for _, points in near) + max(0, others) >= enough else ()
    )


def seen(words: Sequence[str]) -> dict[str, list[Sign]]:
    """The signs among the words of a sentence, by name."""
    found: dict[str, list[Sign]] = {}
    follows = [*words[1:], ""]
    for at, (word, following) in enumerate(zip(words, follows, strict=True)):
        single, phrases, starred = _begun(word)
        for entry in single:
            found.setdefault(entry.sign, []).append(Sign(at, at + 1, entry.orders))
        for entry in (*phrases.get(following, ()), *starred):
            end = at + 1 + len(entry.rest)
            if end <= len(words) and all(map(_same, words[at + 1 : end], entry.rest)):
                found.setdefault(entry.sign, []).append(Sign(at, end, entry.orders))
    return found


@lru_cache(maxsize=1 << 15)
def entries(word: str) -> tuple[LexiconEntry, ...]:
    """What of the table begins with a word."""
    table = signs()
    found = table.whole.get(word, ())
    found += tuple(entry for stem, entry in table.stems.get(word[:_STEM], ()) if word.startswith(stem))
    if "." in word:
        found += table.whole.get(f"*.{word.rpartition('.')[2]}", ())
    if "_" in word:
        found += table.whole.get(f"*_{word.rpartition('_')[2]}", ())
    if _EAST_ASIAN.search(word):
        found += tuple(
            entry for piece in table.pieces.findall(word) if piece != word for entry in table.whole[piece]
        )
    return found


@lru_cache(maxsize=1 << 15)
def _begun(
    word: str,
) -> tuple[tuple[LexiconEntry, ...], dict[str, tuple[LexiconEntry, ...]], tuple[LexiconEntry, ...]]:
    """What a word is by itself, what it begins by its second word, and what it begins with any ending of
    that.
    """
    found = entries(word)
    seconds = {entry.rest[0] for entry in found if entry.rest and not entry.rest[0].endswith("*")}
    return (
        tuple(entry for entry in found if not entry.rest),
        {second: tuple(entry for entry in found if entry.rest[:1] == (second,)) for second in seconds},
        tuple(entry for entry in found if entry.rest and entry.rest[0].endswith("*")),
    )


@lru_cache(maxsize=1 << 15)
def _mask(word: str) -> int:
    bits = signs().bits
    mask = 0
    for entry in entries(word):
        mask |= 0 if entry.rest else bits[entry.sign]
    return mask


@lru_cache(maxsize=1 << 15)
def _phrases(word: str) -> tuple[tuple[str, frozenset[str], int], ...]:
    """What phrases that begin with a word need besides it."""
    bits = signs().bits
    plain = [
        (tuple(word for word in entry.rest if not word.endswith("*")), bits[entry.sign])
        for entry in entries(word)
        if entry.rest
    ]
    return tuple((rest[0] if rest else word, frozenset(rest[1:]), bit) for rest, bit in plain)


def _bits(bits: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(bits[name] for name in set(names))


def _same(given: str, wanted: str) -> bool:
    return given == wanted or (wanted.endswith("*") and given.startswith(wanted[:-1]))


@cache
def _tree() -> dict[str, Any]:
    return tomllib.loads((files("hermes") / "data" / "signs.toml").read_text(encoding="utf-8"))


def _aim(entry: Mapping[str, Any]) -> Aim:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    return Aim(**given)


def _entries(tree: Mapping[str, Any]) -> Iterator[tuple[str, LexiconEntry]]:
    for part in ("signs", "abroad"):
        for sign, words in tree[part].items():
            for phrase in fold_words(words).split():
                kept = phrase if phrase[:2] == "*." else phrase.lstrip(".").replace("-", "+")
                first, *rest = kept.strip("+").split("+")
                yield first, LexiconEntry(tuple(rest), sign, part == "abroad")
