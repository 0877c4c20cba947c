"""Code in colours, row by row."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.present.highlight import Highlighter
from hermes.present.markdown import MarkdownStream, markdown_lines
from hermes.present.spans import Line, Span, plain
from hermes.present.theme import Theme

PYTHON = [
    "import os  # why",
    "",
    'TEXT = """one',
    *(f"def row{n}" for n in range(60)),
    '"""',
    "def f(x):",
    "\treturn 'a' + 1",
]


def roles(row: Line) -> list[tuple[str, str]]:
    return [(span.text, span.role) for span in row if span.role]


def test_words_of_a_language_have_roles_and_its_text_stays_exact() -> None:
    rows = Highlighter("python").feed(PYTHON)
    assert [plain(row) for row in rows] == PYTHON
    assert (roles(rows[0]), roles(rows[-2])) == (
        [("import", "keyword"), ("# why", "comment")], [("def", "keyword"), ("f", "definition")],
    )  # fmt: skip


def test_row_by_row_a_block_looks_as_it_does_at_once() -> None:
    block = [*PYTHON * 3, "/* not python"]
    one_by_one = Highlighter("py")
    assert [row for source in block for row in one_by_one.feed([source])] == Highlighter("py").feed(block)


def test_a_long_comment_that_began_far_above_is_still_one() -> None:
    stream = Highlighter("js")
    rows = [
        row
        for source in ["/* begins", *["if (x) return 1"] * 90, "*/", "let y"]
        for row in stream.feed([source])
    ]
    assert {span.role for row in rows[:-2] for span in row} == {"comment"}
    assert ("let", "keyword") in roles(rows[-1])


def test_looking_at_an_unfinished_row_changes_nothing() -> None:
    stream = Highlighter("python")
    first = stream.feed(["x = 1"])
    assert roles(stream.glance(["retu"])[0]) == []
    assert roles(stream.glance(["return"])[0]) == [("return", "keyword")]
    assert [first, stream.feed(["y"])] == [[row] for row in Highlighter("python").feed(["x = 1", "y"])]


@pytest.mark.parametrize("info", ["", "text", "nosuch", "{}"])
def test_a_language_that_nobody_knows_looks_as_code(info: str) -> None:
    assert Highlighter(info).feed(["if x:"]) == [(Span("if x:", "code"),)]


def test_a_row_costs_no_more_the_longer_its_block_is() -> None:
    stream, spent = Highlighter("python"), []
    stream.feed(["x"])
    for _ in range(4):
        began = time.process_time()
        for number in range(100):
            stream.feed([f"value_{number} = compute({number}, 'text')  # note"])
        spent.append(time.process_time() - began)
    assert spent[3] < 2 * spent[0]  # 0.2 seconds each; the last would take seven times the first


def test_a_row_of_a_megabyte_and_a_string_without_end_are_left_as_they_are() -> None:
    stream = Highlighter("python")
    assert stream.feed(["x = 1 " * 200_000])[0][0].role == "code"
    endless = Highlighter("python")
    rows = [row for source in ['"""', *["def f"] * 450] for row in endless.feed([source])]
    assert (rows[300][0].role, rows[-1][0].role) == ("string", "code")


def test_without_colour_nothing_of_it_is_left() -> None:
    rows = Highlighter("python").feed(PYTHON)
    assert [Theme(colour=False).write(row) for row in rows] == PYTHON
    assert "\x1b[35mimport\x1b[0m" in Theme().write(rows[0])


def test_a_streamed_block_is_coloured_where_it_is_finished_and_where_it_is_open() -> None:
    stream = MarkdownStream(80)
    assert [roles(row) for row in stream.feed("```py\nimport a\nretu")] == [[("import", "keyword")]]
    stream.feed("rn")
    assert [roles(row) for row in stream.open_lines()] == [[("return", "keyword")]]
    assert [roles(row) for row in stream.feed(" b\n```\n")] == [[("return", "keyword")]]
    listed = markdown_lines("- one\n\n  ```py\n  import a\n  ```\n", 80)
    assert ("import", "keyword") in roles(listed[-1])


@given(
    source=st.text(alphabet="ab1 '\"#/*()\\\n\t{}漢`$", max_size=120),
    language=st.sampled_from(["python", "js", "bash", "json", "yaml", "html", "c", "console", "diff"]),
)
@settings(max_examples=150, deadline=None)
def test_no_code_loses_a_letter(source: str, language: str) -> None:
    rows = source.split("\n")
    assert [plain(row) for row in Highlighter(language).feed(rows)] == rows
