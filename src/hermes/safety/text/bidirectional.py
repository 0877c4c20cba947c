"""Control characters that change the order in which a text is shown."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.text.spans import TextSpan

_CONTROLS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FORCED: Final = re.compile("[\u202d\u202e]")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_NEUTRAL: Final = frozenset("\u2068\u2069")
_LONGEST: Final = 2_000


def turned(text: str) -> Iterator[TextSpan]:
    """The stretches, at most a line each, that are shown in another order than they are read.

    Where something is written from right to left the controls do their work; reversing by force never does.
    """
    done = 0
    while found := _CONTROLS.search(text, done):
        start = max(text.rfind("\n", done, found.start()) + 1, done, found.start() - _LONGEST)
        end = text.find("\n", found.end(), found.start() + _LONGEST)
        done = end if end >= 0 else min(len(text), found.start() + _LONGEST)
        marks = list(_CONTROLS.finditer(text, found.start(), done))
        used = {one[0] for one in marks}
        plain = used <= _NEUTRAL or _RIGHT_TO_LEFT.search(text, start, done)
        if not plain or any(_FORCED.match(one) for one in used):
            yield TextSpan(
                start=found.start(),
                end=marks[-1].end(),
                kind="bidirectional",
                rule="turned-writing",
                why="control characters change the order in which the text is shown",
            )
