"""What is taken out of a text in pieces is what is taken out of the whole, however it is cut."""

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.lib.secretvalues import SecretValues
from hermes.lib.text_stream import TagFilter, TextFilter, TextStream

TAG = TagFilter("memory-context")
OPEN, CLOSE = "<memory-context>", "</memory-context>"
texts = st.lists(
    st.sampled_from(
        [OPEN, CLOSE, "<MEMORY-context>", "`", "<", "</", "<memory-", "context>", "a fact", "\n", "x"]
    ),
    max_size=9,
).map("".join)


def shown(pieces: list[str]) -> str:
    found: list[str] = []
    stream = TextStream(TAG, found.append)
    for piece in pieces:
        stream.add(piece)
    stream.end()
    return "".join(found)


def by_definition(text: str) -> str:
    return re.sub(
        r"(?<!`)<memory-context>.*?(</memory-context>|\Z)", "", text, flags=re.DOTALL | re.IGNORECASE
    )


@given(texts, st.lists(st.integers(0, 120), max_size=12))
@example(f"`{OPEN} is a tag", [1])
@example(f"a{OPEN}x{CLOSE}{OPEN}y{CLOSE}b", [])
def test_every_split_gives_the_same_text(text: str, cuts: list[int]) -> None:
    expected = by_definition(text)
    assert TAG.clean(text) == expected
    places = sorted({min(cut, len(text)) for cut in (0, *cuts, len(text))})
    assert shown([text[start:end] for start, end in itertools.pairwise(places)]) == expected
    assert shown(list(text)) == expected


KEY = "sk-key-0123456789"


@given(
    st.sampled_from([TAG, SecretValues(KEY), SecretValues()]),
    texts | st.text("sk-ey012 <`", max_size=24) | st.integers(0, 17).map(lambda cut: f"a {KEY[:cut]}"),
)
def test_of_what_passes_at_a_quick_look_nothing_is_taken_out_and_nothing_waits(
    through: TextFilter, text: str
) -> None:
    assert not through.passes(text) or through.divide(text) == (text, "")


@pytest.mark.parametrize("cut", range(len(f"Yes. {OPEN}\nsecret\n{CLOSE} No.") + 1))
def test_a_span_that_is_cut_anywhere_is_never_seen(cut: int) -> None:
    text = f"Yes. {OPEN}\nsecret\n{CLOSE} No."
    assert shown([text[:cut], text[cut:]]) == "Yes.  No."


def test_what_waits_inside_an_open_span_stays_short() -> None:
    stream = TextStream(TAG, lambda _: None)
    for piece in (OPEN, *["a fact " * 100] * 100):
        stream.add(piece)
    assert stream.waiting == ""
    assert len(stream._kept) < 2 * len(CLOSE)


def test_text_that_begins_no_tag_does_not_wait() -> None:
    found: list[str] = []
    stream = TextStream(TAG, found.append)
    for piece in ("a <b> ", "<mem", "o> ", "x"):
        stream.add(piece)
    assert found == ["a <b> ", "<memo> ", "x"]
