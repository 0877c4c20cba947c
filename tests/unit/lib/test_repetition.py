"""Text that goes on and on is noticed, and no other (the stream of a reply is stopped by it)."""

import hashlib

from hypothesis import example, given
from hypothesis import strategies as st

from hermes.lib.repetition import TIMES, RepetitionDetector, period

LIMIT = 800
pieces = st.text(min_size=1, max_size=LIMIT // TIMES)
sizes = st.integers(1, 300)


def noticed(text: str, size: int, limit: int = LIMIT) -> int:
    """After how many characters a text that comes in pieces of a size is noticed; 0 for never."""
    detector = RepetitionDetector(limit)
    for at in range(0, len(text), size):
        if detector.add(text[at : at + size]):
            return min(at + size, len(text))
    return 0


@given(st.text(max_size=500), pieces, sizes)
@example("", "\n", 1)
@example("x", "ab ab ab x ", 7)
def test_a_piece_that_is_said_on_and_on_is_noticed(before: str, piece: str, size: int) -> None:
    text = before + piece * (4 * LIMIT // len(piece))
    assert 0 < noticed(text, size) <= len(before) + LIMIT + LIMIT // 8 + 2 * size


@given(sizes)
def test_text_that_says_something_new_is_never_noticed(size: int) -> None:
    told = "\n".join(f"{number}. {hashlib.sha256(bytes([number])).hexdigest()}" for number in range(200))
    rows = "\n".join(f"| {number} | the same words in each row of a table | yes |" for number in range(200))
    ruled = "\n\n".join(f"{'=' * (LIMIT - 20)}\nPart {number}" for number in range(9))
    assert [noticed(text, size) for text in (told, rows, ruled)] == [0, 0, 0]


@given(sizes)
def test_a_limit_of_0_notices_nothing(size: int) -> None:
    assert noticed("ha" * 9000, size, limit=0) == 0


@given(st.text(min_size=1, max_size=40), st.integers(TIMES, 60), st.integers(0, 39))
def test_a_period_is_the_length_of_what_is_repeated(piece: str, times: int, more: int) -> None:
    text = piece * times + piece[: more % len(piece)]
    found = period(text)
    assert found == 0 or text == (text[:found] * len(text))[: len(text)]
