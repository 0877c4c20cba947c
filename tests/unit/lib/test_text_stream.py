"""What is taken out of a text in pieces is what is taken out of the whole, however it is cut."""

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import for_terminal
from hermes.lib.text_stream import DEEPEST, EscapeFilter, TagFilter, TextFilter, TextStream

TAG = TagFilter("memory-context")
OPEN, CLOSE = "<memory-context>", "</memory-context>"
texts = st.lists(
    st.sampled_from(
        [
            OPEN,
            CLOSE,
            "<MEMORY-context>",
            "`",
            "<",
            "</",
            "<memory-",
            "context>",
            "a fact",
            "\n",
            "x",
            "< memory-context >",
            "</memory-context\n>",
            " ",
        ]
    ),
    max_size=12,
).map("".join)


def shown(pieces: list[str]) -> str:
    found: list[str] = []
    stream = TextStream(TAG, found.append)
    for piece in pieces:
        stream.add(piece)
    stream.end()
    return "".join(found)


OPENING = r"(?<!`)<\s*memory-context\s*>"
EITHER = re.compile(rf"({OPENING})|<\s*/\s*memory-context\s*>", re.IGNORECASE)


def by_definition(text: str) -> str:
    """The first opening tag goes with all up to the tag that closes it, then what is left is looked at."""
    found = re.search(OPENING, text, re.IGNORECASE)
    if found is None:
        return text
    depth, end = 1, len(text)
    for tag in EITHER.finditer(text, found.end()):
        depth += 1 if tag[1] else -1
        if not depth:
            end = tag.end()
            break
    return by_definition(text[: found.start()] + text[end:])


@given(texts, st.lists(st.integers(0, 120), max_size=12))
@example(f"`{OPEN} is a tag", [1])
@example(f"a{OPEN}x{CLOSE}{OPEN}y{CLOSE}b", [])
@example(f"a <memory-con{OPEN}x{CLOSE}text>y{CLOSE}b", [])
@example(f"{OPEN}{OPEN}x{CLOSE}y{CLOSE}b", [])
@example(f"{OPEN}x`{OPEN}y{CLOSE}b", [20])
@example("<memory-context >x</ memory-context\n>b", [])
def test_every_split_gives_the_same_text(text: str, cuts: list[int]) -> None:
    expected = by_definition(text)
    assert TAG.clean(text) == expected
    places = sorted({min(cut, len(text)) for cut in (0, *cuts, len(text))})
    assert shown([text[start:end] for start, end in itertools.pairwise(places)]) == expected
    assert shown(list(text)) == expected
    assert TAG.clean(expected) == expected


def test_tags_within_tags_without_end_cost_no_more_than_their_number() -> None:
    assert shown([f"a{OPEN * 3000}", *CLOSE * (DEEPEST - 1), "x", *CLOSE, "b"]) == "ab"


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


ESCAPES = st.lists(
    st.sampled_from(
        [
            "\x1b[31m",
            "\x1b[0m",
            "\x1b]0;a title\x1b\\",
            "\x1b]8;;http://x\x07",
            "\x1b(B",
            "\x1bPq1;2\x1b\\",
            "\x1b",
            "\x1b[",
            "\x1bM",
            "\x9d52;c;QQ==\x9c",
            "\x9d",
            "\x90+q\x1b\\",
            "\x98",
            "\x9e",
            "\x9f",
            "\x9c",
            "\x07",
            "\x9b3",
            "\x85",
            "\r",
            "\u202e",
            "\u2069",
            "\x00",
            "red",
            "[x]",
            "\n",
            "ü",
        ]
    ),
    max_size=10,
).map("".join)


@given(ESCAPES, st.lists(st.integers(1, 5), min_size=1))
@example("a\x1b[31mred", [2, 3])
@example("a\x9d52;c;QQ\x9b\x07 b\x1b]0;t\x9dx\x07", [1])
def test_escapes_are_taken_out_however_they_are_cut(text: str, sizes: list[int]) -> None:
    found: list[str] = []
    stream, rest = TextStream(EscapeFilter(), found.append), text
    for size in itertools.cycle(sizes):
        if not rest:
            break
        piece, rest = rest[:size], rest[size:]
        stream.add(piece)
    stream.end()
    assert "".join(found) == for_terminal(text)
