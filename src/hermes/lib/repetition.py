"""Text that has begun to say the same on and on, noticed while it is being written."""

from typing import Final

PROBE: Final = 24
"""Characters of the end of a text whose last place before tells how long the repeated piece may be."""
CANDIDATES: Final = 12
"""How many such places are tried: within one piece the same few characters may stand more than once."""
TIMES: Final = 8
"""How often the piece has to stand there at least."""


class RepetitionDetector:
    """Tells when the last `limit` characters of a text are one piece of it, `TIMES` or more times in a row.

    The end is looked at each time an eighth of the limit has come, so a loop is found at the latest that much
    after it is long enough; the cost of a piece is that of keeping it.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._every = limit, max(1, limit // 8)
        self._end, self._new, self._fresh = "", list[str](), 0

    def add(self, text: str) -> bool:
        """Take in the next piece of the text; whether its end is such a loop now."""
        self._new.append(text)
        self._fresh += len(text)
        if self._fresh < self._every or not self._limit:
            return False
        self._end = (self._end + "".join(self._new))[-self._limit :]
        self._new.clear()
        self._fresh = 0
        return len(self._end) == self._limit and period(self._end) > 0


def period(text: str) -> int:
    """The length of the piece that the whole text repeats, its end included; 0 where it repeats none, or
    less than `TIMES` times.
    """
    probe, end = text[-PROBE:], len(text) - 1
    for _ in range(CANDIDATES):
        at = text.rfind(probe, 0, end)
        length = len(text) - PROBE - at
        if at < 0 or length * TIMES > len(text):
            return 0
        if text[length:] == text[:-length]:
            return length
        end = at + PROBE - 1
    return 0
