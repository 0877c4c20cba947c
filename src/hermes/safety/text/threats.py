"""The rules of `threats.toml`: sentences that give orders to whoever reads them for somebody else, and forms
that imitate or hide.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

from hermes.safety.text.folding import fold_words

_GROUP: Final = re.compile(r"\{(!?)(\w+)\}")
_OPTIONAL: Final = re.compile(r"\([^()]*\)\? ?")
_GAPS: Final = ((" .... ", " (?:[^ ]+ ){0,14}"), (" ... ", " (?:[^ ]+ ){0,7}"), (" .. ", " (?:[^ ]+ ){0,3}"))
_STEMS: Final = (3, 2, 1)
_SHORTEST_SPELT: Final = 4
_MOST_KNOWN: Final = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreatRule:
    """One entry of the table. `says` are sentences, `forms` regular expressions for the folded text; one of
    them must be found.

    `needs`: without one of these pieces no form is looked for. `unless`: a sentence with one of these is
    innocent. `weak`: an order only where people do not see it. `denies`: the sentence forbids something, so
    that "not" before it changes nothing.
    """

    id: str
    kind: str
    why: str
    says: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    weak: bool = False
    denies: bool = False
    match: tuple[str, ...] = field(default=(), repr=False)
    passes: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Saying:
    """One sentence of a rule; its expression is made when it is first looked for."""

    rule: ThreatRule
    source: str
    words: Mapping[str, str]

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """What finds it among the words of a sentence, one space between each."""
        return re.compile(f"(?<![^ ]){_expanded(self.source, self.words)}(?![^ ])")

    @cached_property
    def unless(self) -> re.Pattern[str] | None:
        """What makes the sentence innocent."""
        rows = [_expanded(row, self.words) for row in self.rule.unless]
        return re.compile(f"(?<![^ ])(?:{'|'.join(rows)})(?![^ ])") if rows else None

    def elements(self) -> Iterator[tuple[bool, frozenset[str]]]:
        """The words of which one must be there, for each part of the sentence that cannot be left out; and
        whether that part is marked.
        """
        for part in _parts(_OPTIONAL.sub("", self.source)):
            words = frozenset(_first_word(word) for word in _choices(part, self.words))
            if not any(word[:1] in {"", "@", "~", "[", "]"} for word in words):
                yield "{!" in part, words


@dataclass(frozen=True, slots=True)
class Index:
    """To which numbers a word belongs."""

    whole: Mapping[str, tuple[int, ...]]
    stems: Mapping[str, tuple[tuple[str, int], ...]]
    known: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def of(self, word: str) -> tuple[int, ...]:
        """The numbers of a word, by itself, by its beginning, or by its end behind a low line."""
        found = self.known.get(word)
        if found is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            found = self.known[word] = self._numbers(word)
        return found

    def _numbers(self, word: str) -> tuple[int, ...]:
        found = self.whole.get(word, ())
        for length in _STEMS:
            near = self.stems.get(word[:length])
            if near:
                found = (*found, *(number for stem, number in near if word.startswith(stem)))
        if "_" in word:
            found = (*found, *self.whole.get(f"*_{word.rpartition('_')[2]}", ()))
        return found


@dataclass(frozen=True, slots=True)
class Needs:
    """Which parts of sayings a word can be, which parts each saying needs, and which sayings a rare word
    makes worth a look.
    """

    parts: Index
    of: tuple[frozenset[int], ...]
    anchors: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """The expressions of a rule, and the pieces of text without which none of them is there."""

    rule: ThreatRule
    needs: tuple[str, ...]
    expressions: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threats:
    """All of `threats.toml`: the sayings, what those of strong rules and of all rules need; the forms; words
    for other uses.
    """

    rules: tuple[ThreatRule, ...]
    sayings: tuple[Saying, ...]
    needs: Needs
    weak_needs: Needs
    forms: tuple[Forms, ...]
    spelt: Index
    words: Mapping[str, str]


@cache
def discussion() -> re.Pattern[str]:
    """What finds, among words with one space between each, that attacks, tests or examples are talked of."""
    return re.compile(f"(?<![^ ]){_alternatives(threats().words['discussed'])}(?![^ ])")


@cache
def threats() -> Threats:
    """The table, read once; a fault in the file is raised as it is."""
    tree = tomllib.loads((files("hermes") / "data" / "threats.toml").read_text(encoding="utf-8"))
    words = {name: fold_words(" ".join(text.split())) for name, text in tree["words"].items()}
    rules = tuple(_rule(entry) for entry in tree["rule"])
    sayings = tuple(Saying(rule, fold_words(source), words) for rule in rules for source in rule.says)
    forms = tuple(
        Forms(rule=one, needs=one.needs, expressions=tuple(re.compile(form) for form in one.forms))
        for one in rules
        if one.forms
    )
    common = frozenset(words["common"].split())
    spelt = [
        word
        for text in words.values()
        for word in text.split()
        if len(word) >= _SHORTEST_SPELT and word.rstrip("*").isalpha()
    ]
    return Threats(
        rules=rules,
        sayings=sayings,
        needs=_needs(sayings, common, weak=False),
        weak_needs=_needs(sayings, common, weak=True),
        forms=forms,
        spelt=_index([(word, 0) for word in spelt]),
        words=words,
    )


def _first_word(words: str) -> str:
    """What of an alternative the words of a text are compared with."""
    first = words.strip().split(" ")[0]
    kind = first.removeprefix("*.") if first.startswith("*.") else first.lstrip(".").split(".")[0]
    return kind.split("|")[0].strip("()")


def _rule(entry: Mapping[str, Any]) -> ThreatRule:
    lists = {"says", "forms", "needs", "unless", "match", "passes"}
    given: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in entry.items()}
    return ThreatRule(**given)


def _needs(sayings: Sequence[Saying], common: frozenset[str], *, weak: bool) -> Needs:
    """What the sayings need; a saying is looked for where its marked part is, or its first part without
    common words.
    """
    numbers: dict[frozenset[str], int] = {}
    needed: list[frozenset[int]] = []
    anchors: list[tuple[str, int]] = []
    for number, saying in enumerate(sayings):
        elements = [
            (marked, numbers.setdefault(words, len(numbers)), words) for marked, words in saying.elements()
        ]
        needed.append(frozenset(part for _, part, _ in elements))
        if weak or not saying.rule.weak:
            best = min(elements, key=lambda one: (not one[0], bool(one[2] & common)))
            anchors += [(word, number) for word in best[2]]
    parts = _index([(word, part) for words, part in numbers.items() for word in words])
    return Needs(parts, tuple(needed), _index(anchors))


def _parts(source: str) -> Iterator[str]:
    """What stands between the spaces of a saying, with what is in brackets as one."""
    depth, part = 0, ""
    for letter in f"{source} ":
        depth += (letter == "(") - (letter == ")")
        if letter == " " and not depth:
            if part.strip("."):
                yield part
            part = ""
        else:
            part += letter


def _choices(part: str, words: Mapping[str, str]) -> Iterator[str]:
    """The alternatives of a part, each by its words."""
    part = part.removeprefix("^").removesuffix("$")
    if part.startswith("(") and part.endswith(")"):
        depth, start = 0, 1
        for at, letter in enumerate(part[1:], 1):
            depth += (letter == "(") - (letter == ")")
            if (letter == "|" and not depth) or depth < 0:
                yield from _choices(part[start:at].lstrip("("), words)
                start = at + 1
        return
    group = _GROUP.match(part)
    yield from (word.replace("+", " ") for word in words[group[2]].split()) if group else (part,)


def _index(words: Sequence[tuple[str, int]]) -> Index:
    whole: defaultdict[str, list[int]] = defaultdict(list)
    stems: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for word, number in words:
        if word.endswith("*") and len(word) > 1 and word[0] != "*":
            stems[word[: min(len(word) - 1, _STEMS[0])]].append((word[:-1], number))
        else:
            whole[word].append(number)
    return Index(
        {word: tuple(found) for word, found in whole.items()},
        {stem: tuple(found) for stem, found in stems.items()},
    )


def _expanded(source: str, words: Mapping[str, str]) -> str:
    """A saying as a regular expression."""
    for gap, expression in _GAPS:
        source = source.replace(gap, f"\0{expression}\0")
    pieces = source.split("\0")
    pieces[::2] = [
        _GROUP.sub(lambda found: _alternatives(words[found[2]]), piece.replace("*", "[^ ]*"))
        for piece in pieces[::2]
    ]
    return "".join(pieces).replace("(", "(?:").replace("(?:?", "(?")


def _alternatives(words: str) -> str:
    rows = [re.escape(word).replace(r"\*", "[^ ]*").replace(r"\+", " ") for word in words.split()]
    return f"({'|'.join(rows)})"
