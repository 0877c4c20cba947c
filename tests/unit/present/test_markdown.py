"""What Markdown promises on a screen."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.present.markdown import MarkdownStream, markdown_lines
from hermes.present.spans import columns, plain


def text(source: str, width: int = 80) -> list[str]:
    return [plain(row) for row in markdown_lines(source, width)]


DOCUMENT = """# Title *x*

Some **bold [x] text** with `code` and [link](http://a.b) and [bold]red[/bold].
second line

1. one is a long item that must wrap onto the next line with a hanging indent
   - [ ] a `b`
   - [x] c
2. two

- tight
- list

> quote

| Module | Tests | Comment |
|---|--:|---|
| terminal | 64 | two are slow |
| b | 1 | [x] |

```python
def f(x):
    return [x]  # ```inside

```
after

~~~
tilde
~~~
## end
"""


def test_a_table_that_fits_aligns_its_columns() -> None:
    assert text("| Module | Tests |\n|---|--:|\n| terminal | 64 |\n| b | 1 |\n") == [
        "Module    Tests",
        "────────  ─────",
        "terminal     64",
        "b             1",
    ]


def test_a_table_that_is_too_wide_becomes_records() -> None:
    source = "|Module|Tests|Time|Comment|\n|-|-|-|-|\n|terminal tools|sixty-four|twelve seconds|two are slow and long|\n"
    assert text(source, 40) == [
        "Module: terminal tools",
        "Tests: sixty-four",
        "Time: twelve seconds",
        "Comment: two are slow and long",
    ]


def test_list_items_hang_and_nest() -> None:
    assert text("1. one two three four\n   - [ ] open\n   - [x] done\n10. ten\n", 16) == [
        "1. one two three",
        "   four",
        "   ☐ open",
        "   ☑ done",
        "10. ten",
    ]


def test_fences_and_language_words_are_not_shown_and_code_stays_exact() -> None:
    long = "x = [" + "1, " * 60 + "]  # **not bold** [x]"
    assert text(f"```python\n{long}\n\tif x:\n\n```\n", 40) == [long, "\tif x:", ""]


@pytest.mark.parametrize(
    "words",
    ["[x] and [bold]red[/bold]", "a <b>c</b> &d", "[ref]: http://kept", "array[0][1]", "snake_case_name"],
)
def test_what_looks_like_markup_is_not_swallowed(words: str) -> None:
    assert text(words) == [words]


def test_a_fence_that_ends_the_text_is_not_shown() -> None:
    assert (text("```diff\n+new\n```"), text("```diff\n+new")) == (["+new"], ["+new"])


def test_links_show_their_address_once() -> None:
    assert text("[docs](http://a.b) and <http://c.d>") == ["docs (http://a.b) and http://c.d"]


def test_escape_sequences_are_stripped() -> None:
    assert text("red \x1b[31mx\x1b[0m \x1b]0;title\x07y") == ["red x y"]


def test_finished_blocks_come_out_before_the_text_ends() -> None:
    stream = MarkdownStream(80)
    seen = [
        [plain(row) for row in stream.feed(piece)]
        for piece in ("one\n\ntw", "o\n\n```py\na = 1\nb", " = 2\n```\n- i\n- j", "\n- k\n")
    ]
    assert seen == [["one"], ["", "two", "", "a = 1"], ["b = 2", "", "• i"], ["• j"]]
    assert [plain(row) for row in stream.finish()] == ["• k"]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_line_but_code_is_wider_than_the_window(width: int) -> None:
    prose = DOCUMENT.replace("```python", "").replace("~~~", "")
    assert max(columns(row) for row in markdown_lines(prose, width)) <= width


@given(cuts=st.lists(st.integers(0, len(DOCUMENT)), max_size=12), width=st.sampled_from([30, 80]))
@settings(max_examples=60, deadline=None)
def test_streaming_gives_the_same_lines_however_the_text_is_cut(cuts: list[int], width: int) -> None:
    marks = [0, *sorted(cuts), len(DOCUMENT)]
    stream = MarkdownStream(width)
    rows = []
    for start, end in pairwise(marks):
        rows += stream.feed(DOCUMENT[start:end])
        stream.open_lines()
    assert [plain(row) for row in (*rows, *stream.finish())] == text(DOCUMENT, width)


@given(st.text(alphabet="ab1 *_`[]()|-#>\n\t~.!漢👩\u200d\u0301", max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_renders_and_keeps_its_letters(source: str) -> None:
    def letters(words: str) -> list[str]:
        return sorted(letter for letter in words if letter in "ab漢👩")

    rendered = "".join(plain(row) for row in markdown_lines(source, 30))
    if "](" not in source and "`" not in source and "~" not in source and "|" not in source:
        assert letters(rendered) == letters(source)
