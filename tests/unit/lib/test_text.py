from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.jsonfix import parse_arguments
from hermes.lib.text import clip, for_terminal, mend_surrogates, strip_escapes


@given(st.text(max_size=400), st.integers(0, 300))
def test_a_clipped_text_is_never_longer_than_the_limit(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert len(clipped) <= limit
    if len(text) <= limit:
        assert clipped == text


def test_a_clipped_text_keeps_head_and_tail_and_says_how_much_is_gone() -> None:
    clipped = clip("a" * 500 + "b" * 500, 200)
    assert clipped.startswith("aaaa")
    assert clipped.endswith("bbbb")
    assert "characters left out" in clipped


def test_escapes_go_and_words_stay() -> None:
    dressed = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b(Bplain\ttab\r\nline\x00\x9b"
    assert strip_escapes(dressed) == "red link plain\ttab\nline"


@given(st.text())
def test_a_text_without_escapes_is_left_alone_and_no_escape_survives(text: str) -> None:
    assert "\x1b" not in strip_escapes(text + "\x1b[31m")
    plain = "".join(character for character in text if character.isprintable())
    assert strip_escapes(plain) == plain


def test_what_begins_with_one_character_goes_as_what_begins_with_two_does() -> None:
    dressed = (
        "a\x9d52;c;UFdORUQ=\x9cb \x90+q\x9cc\x9b2Jd \x98x\x1b\\e\x9ey\x9cf\x9fz\x9cg \x84\x85\x8dh\x9d0;t"
    )
    assert strip_escapes(dressed) == "ab cd efg h"


@given(st.text(st.sampled_from("\x1b\x07\x9d\x90\x9c\x9b\x80\x9f\x00\r\n\t\u202e\u2066[]P;m\\aü")))
def test_a_terminal_gets_nothing_that_moves_or_turns_what_stands_there(text: str) -> None:
    shown = for_terminal(text)
    assert all(one.isprintable() or one in "\n\t" for one in shown)
    assert for_terminal(shown) == shown


def test_a_line_is_not_written_over_and_is_read_in_order() -> None:
    assert for_terminal("rm -rf x\rls\r\n\u202egpj.exe\u202c \u2066a\u2069") == "rm -rf xls\ngpj.exe a"


@given(st.text(alphabet=st.characters()))
def test_every_mended_text_encodes(text: str) -> None:
    mended = mend_surrogates(text)
    assert mended.encode().decode() == mended
    assert len(mended) == len(text)


@given(st.text())
def test_any_text_gives_arguments_or_one_sentence(text: str) -> None:
    parsed = parse_arguments(text)
    assert isinstance(parsed.value, dict)
    assert not (parsed.value and parsed.fault)
