"""What a person decides about shows everything that is in it."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.visible import spelled_out, visible


def test_what_would_not_be_seen_is_written_out() -> None:
    assert visible("ls\x1b[8m\r\u202e\u200b x\x00") == "ls⟨U+001B⟩[8m⟨U+000D⟩⟨U+202E⟩⟨U+200B⟩ x⟨U+0000⟩"
    assert visible("a\u00a0b\u3164") == "a⟨U+00A0⟩b⟨U+3164⟩"


def test_in_a_text_to_read_lines_and_columns_stay() -> None:
    assert spelled_out("a" + " " * 50 + "b\n\n\n\n\n\u202e") == "a" + " " * 50 + "b\n\n\n\n\n⟨U+202E⟩"


def test_a_long_stretch_of_nothing_is_its_length() -> None:
    assert visible("ls" + " " * 10_000 + "; rm -rf x") == "ls ⟨10000 spaces⟩ ; rm -rf x"
    assert visible("ls" + "\n" * 500 + "rm -rf x") == "ls\n⟨500 empty lines⟩\nrm -rf x"


def test_ordinary_text_stays() -> None:
    for text in ("ls -la", "echo 'é 🎉 👩‍💻 日本語'", "a\n\tb", "print  (1)"):
        assert visible(text) == text


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    shown = visible(text)
    assert [
        one
        for one in shown
        if one not in "\n\t\u200d" and unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    ] == []
