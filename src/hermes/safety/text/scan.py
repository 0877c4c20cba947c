"""Find what in a text has a form that ordinary text has not: invisible or turned characters, look-alikes,
hidden or encoded words, forged turns.

The words themselves are not judged, but by the phrases that a user may set: what plain words can ask for is
held by `safety.taint`, by where they come from.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hermes.safety.text.bidirectional import turned
from hermes.safety.text.code import CodeMap
from hermes.safety.text.encoded import encoded
from hermes.safety.text.forged import forged
from hermes.safety.text.hidden import hidden
from hermes.safety.text.invisible import invisible
from hermes.safety.text.phrases import phrases_in
from hermes.safety.text.scripts import disguised
from hermes.safety.text.spans import TextSpan


def scan(text: str, phrases: Iterable[str] = ()) -> tuple[TextSpan, ...]:
    """The spans of a text, in order, also of what matches one of the `phrases`; of those that overlap the
    first, made as long as they reach together.
    """
    return _merged([*hits(text), *phrases_in(text, phrases)])


def hits(text: str) -> Iterator[TextSpan]:
    """Everything that is found, in no order and also where it overlaps."""
    code = CodeMap(text)
    yield from invisible(text)
    yield from turned(text)
    yield from disguised(text)
    yield from hidden(text, code)
    yield from encoded(text, code)
    yield from forged(text, code)


def _merged(spans: Iterable[TextSpan]) -> tuple[TextSpan, ...]:
    kept: list[TextSpan] = []
    for one in sorted(spans, key=lambda span: (span.start, -span.end)):
        if kept and one.start < kept[-1].end:
            kept[-1] = replace(kept[-1], end=max(kept[-1].end, one.end))
        else:
            kept.append(one)
    return tuple(kept)
