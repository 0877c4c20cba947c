"""Weigh the weak signs of a sentence: an act and an object that outside text has no business with, who is
spoken to, and what calms.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hermes.safety.text.features import AIDS, MOST_OTHERS, MOST_PLUS, Aim, Sign, seen, speech
from hermes.safety.text.tokenizer import Sentence

ENOUGH: Final = 3
"""The points that make a sentence an order."""

ENOUGH_UNSEEN: Final = 2
"""The points that do where people do not see it."""

_MOST_CALM: Final = 3
_LONG: Final = (22, 32, 45, 60)
_CLAUSE: Final = re.compile(r"[,;:—–()\[\]{}*>#|\"“”‘’«»=\n!?.…`/+]|- | -")
_LABEL: Final = 5
_MARK: Final = re.compile(r"[:>\])}]")
_LABELS: Final = frozenset({"labelled", "speaker"})
_REACH: Final = 3


class Weighed(Struct, frozen=True):
    """The heaviest aim of a sentence, its points, and the words that show it."""

    aim: Aim
    points: int
    start: int
    end: int


def weighed(sentence: Sentence, text: str, aims: Iterable[Aim]) -> Weighed | None:
    """What the signs of a sentence add up to; None where no act meets its object."""
    words = sentence.words.split(" ")
    found = seen(words)
    for name in _LABELS & found.keys():
        found[name] = [one for one in found[name] if _labels(one, sentence, text)]
    calm = min(
        _MOST_CALM, len({one.start for one in found.get("calm", ())}) + min(1, len(found.get("mild", ())))
    )
    calm += sum(len(words) > length for length in _LONG)
    spoken = _Spoken(words, sentence.places, text, found)
    rows = [row for aim in aims for row in _pairs(aim, found, spoken)]
    if not rows:
        return None
    best = max(rows, key=lambda row: row.points)
    others = {
        row.aim.id
        for row in rows
        if row.aim.id != best.aim.id
        and row.points >= AIDS
        and (row.end <= best.start or best.end <= row.start)
    }
    return Weighed(best.aim, best.points + min(MOST_OTHERS, len(others)) - calm, best.start, best.end)


def _labels(sign: Sign, sentence: Sentence, text: str) -> bool:
    """Whether a sentence begins with a sign to say who speaks."""
    if sign.start >= _LABEL:
        return False
    places = sentence.places
    before = text[
        places[sign.start - 1][1] if sign.start else max(0, places[0][0] - _LABEL) : places[sign.start][0]
    ]
    gaps = [
        text[places[at][1] : places[at + 1][0]]
        for at in range(sign.start, min(sign.start + _LABEL - 1, len(places) - 1))
    ]
    return (any(map(_MARK.search, gaps)) and (not sign.start or bool(_CLAUSE.search(before)))) or (
        "#" in before and any("\n" in gap for gap in gaps)
    )


def _pairs(aim: Aim, found: Mapping[str, list[Sign]], spoken: "_Spoken") -> Iterator[Weighed]:
    """An aim for each act that has its object near."""
    if any(name not in found for name in aim.also):
        return
    for act in found.get(aim.act, ()):
        for thing in found.get(aim.object, ()):
            gap = max(thing.start - act.end, act.start - thing.end)
            same = act.start == thing.start and not (act.orders and thing.orders)
            if same or gap > aim.within or (thing.start < act.start and not (act.orders or aim.either)):
                continue
            if not aim.claim and spoken.denied(act) != aim.denied:
                continue
            more = sum(_elsewhere(found.get(name, ()), act, thing) for name in aim.plus)
            points = aim.points + min(MOST_PLUS, more) + (0 if aim.claim else spoken.weight(act))
            yield Weighed(aim, points, min(act.start, thing.start), max(act.end, thing.end))
            break


def _elsewhere(signs: Sequence[Sign], act: Sign, thing: Sign) -> bool:
    """Whether one of the signs is other words than the act and the object, or all are pieces of the same
    unbroken writing.
    """
    return any(
        (
            (one.end <= act.start or one.start >= act.end)
            and (one.end <= thing.start or one.start >= thing.end)
        )
        or one.orders
        for one in signs
    )


class _Spoken(Struct, frozen=True):
    """How the words of a sentence are said."""

    words: Sequence[str]
    places: Sequence[tuple[int, int]]
    text: str
    found: Mapping[str, list[Sign]]

    def denied(self, act: Sign) -> bool:
        """Whether a "not" stands before an act."""
        if any(one.start <= act.start <= one.start + _REACH for one in self.found.get("not", ())):
            return True
        return self._denial(act) is not None

    def weight(self, act: Sign) -> int:
        """1 for an order, -1 for what is only told, -2 for the purpose of what follows: "to disable it,
        …".
        """
        if act.orders:
            return int(all(one.start == act.start for one in self.found.get("not", ())))
        if act.start == 1 and self.words[0] == "to":
            return -2
        denial = self._denial(act)
        at = act.start if denial is None else denial
        return 1 if self._ordered(at) or self._ordered(act.start) else -1

    def _denial(self, act: Sign) -> int | None:
        for at in range(act.start - 1, max(-1, act.start - 1 - _REACH), -1):
            if self._breaks(at + 1):
                return None
            if self.words[at] in speech().denials and not (
                self.words[at] == "stop" and not self.words[act.start].endswith("ing")
            ):
                return at - 1 if at and self.words[at - 1] == "do" else at
        return None

    def _ordered(self, at: int) -> bool:
        if at <= 0 or self._breaks(at):
            return True
        before = self.words[at - 1]
        earlier = self.words[at - 2] if at > 1 else ""
        if before in speech().modals:
            return any(word in speech().addressed for word in self.words[max(0, at - 4) : at - 1])
        if before == "to":
            return earlier in speech().before_to or (
                earlier in speech().told
                and any(word in speech().addressed for word in self.words[max(0, at - 5) : at - 2])
            )
        return before in speech().openers or (before in speech().adverbs and self._ordered(at - 1))

    def _breaks(self, at: int) -> bool:
        """Whether a new clause begins with a word."""
        return _CLAUSE.search(self.text, self.places[at - 1][1], self.places[at][0]) is not None
