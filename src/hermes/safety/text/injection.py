"""Find what in a text gives orders to whoever reads it for somebody else: spans, each with its kind, its rule
and the reason.

A search by meaning of words, not a proof: what it misses is held by `safety.taint`, which does not ask what a
text says.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from msgspec import Struct

from hermes.safety.text.encoded import Decoded, decoded
from hermes.safety.text.features import Aim, possible
from hermes.safety.text.folding import Folded, fold
from hermes.safety.text.hidden import areas, oddities
from hermes.safety.text.scorer import ENOUGH, ENOUGH_UNSEEN, weighed
from hermes.safety.text.threats import Forms, Saying, ThreatRule, discussion, threats
from hermes.safety.text.tokenizer import Sentence, kinds_of, reading, words_of

LONGEST: Final = 600
"""A longer stretch is not one span: what stands around a hit is kept."""

_BREAK: Final = re.compile(
    r"[.!?…][\"'”’)\]]{0,2}(?=\s|$)|[。！？।]|\n[ \t]*\n|\n(?=[ \t]{0,12}(?:[-*+#>|<\[{/]|\d{1,3}[.)] ))"
)
_AROUND: Final = 160
_WINDOW: Final = 160
_OVERLAP: Final = 30
_DEEP: Final = 2
_SPELT: Final = re.compile(r"(?<!\w)(?:[^\W_][ .\-*·|/,]{1,3}){5,400}[^\W_](?!\w)")
_NEGATION: Final = re.compile(
    r"(?<![^"
    r" ])(?:not|never|don't|doesn't|cannot|can't|won't|shouldn't|mustn't|avoid|without"
    r"|nor|neither|n't|nie|niemals|jamais|nunca|non)"
    r" (?:[^ ]+ ){0,2}$"
)
_REPORTED: Final = re.compile(
    r"(?<![^"
    r" ])(?:to|like|as|says|saying|said|that|which|may|might|can|could"
    r"|would|called|phrases?|contains|containing|or|for|text|from) $"
)
_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」"}


class ThreatSpan(Struct, frozen=True, kw_only=True):
    """A stretch of a text that was found: `kind` names what it tries, `rule` what found it, `why` goes after
    "because".
    """

    start: int
    end: int
    kind: str
    rule: str
    why: str


def scan(text: str) -> tuple[ThreatSpan, ...]:
    """The spans of a text, in order; of those that overlap the first, made as long as they reach together."""
    return _merged(hits(text))


def hits(text: str) -> Iterator[ThreatSpan]:
    """Everything that is found, in no order and also where it overlaps."""
    return _found(text, _DEEP)


def _found(text: str, depth: int) -> Iterator[ThreatSpan]:
    folded = fold(text)
    for start, end, rule, kind, why in oddities(text):
        yield ThreatSpan(start=start, end=end, kind=kind, rule=rule, why=why)
    for start, end in folded.mixed:
        yield _span(
            folded,
            start,
            end,
            "mixed-scripts",
            "disguised",
            "a word mixes letters of two scripts that look alike",
        )
    orders = [*_orders(folded.text, weak=False), *_forms(folded.text)]
    for start, end, found in orders:
        yield _span(folded, start, end, found.id, found.kind, found.why)
    yield from _hidden(folded)
    if depth:
        for one in decoded(folded.text, text):
            yield from _behind(one, depth)


def _span(folded: Folded, start: int, end: int, rule: str, kind: str, why: str) -> ThreatSpan:
    first, last = folded.origin(start, end)
    return ThreatSpan(start=first, end=last, kind=kind, rule=rule, why=why)


def _orders(text: str, *, weak: bool) -> Iterator[tuple[int, int, ThreatRule | Aim]]:
    """The sentences of a folded text that say what a rule is about, or whose signs weigh enough."""
    table = threats()
    enough = ENOUGH_UNSEEN if weak else ENOUGH
    breaks = [0, *(one.end() for one in _BREAK.finditer(text)), len(text)]
    stretches = [(start, end, words_of(text, start, end)) for start, end in pairwise(breaks)]
    look = reading(set().union(*(words for _, _, words in stretches)), table, weak=weak)
    for start, end, words in stretches:
        numbers = look.wanted(words)
        plain = {look.spelt.get(word, word) for word in words} if look.spelt else words
        aims = possible(plain | kinds_of(text, start, end), enough)
        if not numbers and not aims:
            continue
        for sentence in look.sentences(text, start, end):
            for first, last, rule in _matching_rules(
                sentence, text, [table.sayings[number] for number in sorted(numbers)]
            ):
                yield *_extent(sentence, first, last), rule
            heavy = weighed(sentence, text, aims)
            if heavy is not None and heavy.points >= enough:
                first, last = _letters(sentence, heavy.start, heavy.end)
                if not _mentioned(sentence, text, first, last):
                    yield *_extent(sentence, first, last), heavy.aim


def _matching_rules(
    sentence: Sentence, text: str, sayings: Iterable[Saying]
) -> Iterator[tuple[int, int, ThreatRule]]:
    """The rules that a sentence falls under, each once, with the words that say it."""
    seen: set[str] = set()
    for saying in sayings:
        if saying.rule.id in seen:
            continue
        for hit in saying.expression.finditer(sentence.words):
            innocent = saying.unless is not None and saying.unless.search(sentence.words)
            denied = not saying.rule.denies and _NEGATION.search(sentence.words[: hit.start()])
            if not innocent and not denied and not _mentioned(sentence, text, hit.start(), hit.end()):
                seen.add(saying.rule.id)
                yield hit.start(), hit.end(), saying.rule
                break


def _letters(sentence: Sentence, start: int, end: int) -> tuple[int, int]:
    """Where words of a sentence stand among its letters."""
    last = sentence.starts[end] - 1 if end < len(sentence.starts) else len(sentence.words)
    return sentence.starts[start], last


def _extent(sentence: Sentence, start: int, end: int) -> tuple[int, int]:
    """The whole sentence around a hit, as far as it is not too long."""
    first, last = sentence.place(start, end)
    if sentence.end - sentence.start <= LONGEST:
        return sentence.start, sentence.end
    return max(sentence.start, first - _AROUND), min(sentence.end, last + _AROUND)


def _mentioned(sentence: Sentence, text: str, start: int, end: int) -> bool:
    """Whether a text only speaks of such words: it quotes them, or reports them, where attacks and tests are
    talked of.
    """
    discussed = discussion()
    first, last = sentence.place(start, end)
    before = sentence.words[:start]
    if _REPORTED.search(before) and discussed.search(before):
        return True
    line = text.rfind("\n", max(0, first - _WINDOW), first) + 1 or max(0, first - _WINDOW)
    opened = [
        at
        for at in range(line, first)
        if text[at] in _QUOTES and not (text[at] in "'’" and at and text[at - 1].isalnum())
    ]
    quoted = any(
        text.find(_QUOTES[text[at]], last, last + _WINDOW) >= 0
        for at in opened
        if text.count(text[at], at + 1, first) % 2 == 0
    )
    if not quoted:
        return False
    context = " ".join(
        re.findall(r"[^\W_]+", f"{text[max(0, first - 2 * _WINDOW) : first]} {text[last : last + _WINDOW]}")
    )
    return bool(discussed.search(context))


def _forms(text: str) -> Iterator[tuple[int, int, ThreatRule]]:
    """What imitates or pulls apart."""
    for form in threats().forms:
        if form.rule.id != "pulled-apart" and any(piece in text for piece in form.needs):
            yield from _imitations(form, text)
    apart = next(form for form in threats().forms if form.rule.id == "pulled-apart")
    for run in _SPELT.finditer(text):
        joined = "".join(letter for letter in run[0] if letter.isalnum())
        if any(one.search(joined) for one in apart.expressions):
            yield run.start(), run.end(), apart.rule


def _imitations(form: Forms, text: str) -> Iterator[tuple[int, int, ThreatRule]]:
    discussed = discussion()
    for expression in form.expressions:
        for hit in expression.finditer(text):
            line = _line_before(text, hit.start())
            if not (
                _in_code(text, hit.start())
                or (line[-1:] in _QUOTES and discussed.search(" ".join(re.findall(r"[^\W_]+", line))))
            ):
                start = hit.start() + len(hit[0]) - len(hit[0].lstrip())
                yield start, start + len(hit[0].strip()), form.rule


def _line_before(text: str, at: int) -> str:
    return text[max(0, at - _WINDOW) : at].rpartition("\n")[2]


def _in_code(text: str, at: int) -> bool:
    """Whether a place is between backticks of its line."""
    return _line_before(text, at).count("`") % 2 == 1


def _hidden(folded: Folded) -> Iterator[ThreatSpan]:
    """Orders where people do not see them; there a weaker one is enough."""
    for area in areas(folded.text):
        found = next(_orders(area.inner(folded.text), weak=True), None)
        if found is not None and not _in_code(folded.text, area.start):
            yield _span(folded, area.start, area.end, found[2].id, "hidden", f"{found[2].why}, {area.why}")


def _behind(one: Decoded, depth: int) -> Iterator[ThreatSpan]:
    """What stands in an encoded piece is judged as if it stood there plainly."""
    found = next(_found(one.text, depth - 1), None)
    if found is not None:
        yield ThreatSpan(
            start=one.start,
            end=one.end,
            kind="encoded",
            rule=found.rule,
            why=f"behind {one.how}: {found.why}",
        )
        return
    weak = next(_orders(fold(one.text).text, weak=True), None)
    if weak is not None:
        yield ThreatSpan(
            start=one.start, end=one.end, kind="encoded", rule=weak[2].id, why=f"behind {one.how}: an order"
        )
    elif one.runs:
        yield ThreatSpan(
            start=one.start,
            end=one.end,
            kind="encoded",
            rule="encoded-command",
            why=f"behind {one.how} stands a command to run",
        )


def _merged(spans: Iterator[ThreatSpan]) -> tuple[ThreatSpan, ...]:
    ordered = sorted(spans, key=lambda one: (one.start, -one.end))
    kept: list[ThreatSpan] = []
    for one in ordered:
        if kept and one.start < kept[-1].end:
            first = kept[-1]
            kept[-1] = ThreatSpan(
                start=first.start,
                end=max(first.end, one.end),
                kind=first.kind,
                rule=first.rule,
                why=first.why,
            )
        else:
            kept.append(one)
    return tuple(kept)
