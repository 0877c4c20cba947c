"""Python of a small model: brackets that it forgot are closed, a line for the shell is known as one."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.local.code_repair import close_brackets, is_shell_line


@pytest.mark.parametrize(
    ("code", "closed"),
    [
        (
            "print(max(rows, key=lambda row: float(row['price']))\n",
            "print(max(rows, key=lambda row: float(row['price'])))\n",
        ),
        ("print(sum([1, 2)\n", "print(sum([1, 2)\n"),
        ("x = {'a': (1\nprint(x)\n", "x = {'a': (1)}\nprint(x)\n"),
        ("print('a", "print('a"),
        ("print(1))\n", "print(1))\n"),
        ("print((\x00", "print((\x00"),
        ("git log | wc -l", "git log | wc -l"),
    ],
)
def test_brackets_are_closed_where_that_makes_python_of_it(code: str, closed: str) -> None:
    assert close_brackets(code) == closed


def test_what_is_too_deep_to_be_read_stays_as_it_is() -> None:
    assert close_brackets("(" * 10_000) == "(" * 10_000


@given(st.text(alphabet="ab([{}])=\n '\\", max_size=60))
def test_what_is_changed_is_python_and_begins_each_line_as_before(code: str) -> None:
    closed = close_brackets(code)
    if closed != code:
        ast.parse(closed)
        for new, old in zip(closed.split("\n"), code.split("\n"), strict=True):
            assert new.startswith(old.rstrip())
            assert not new[len(old.rstrip()) :].strip(")]} ")


@pytest.mark.parametrize("line", ["python3 sum.py", "git log --oneline | wc -l\n", "ls -S music | head -n 3"])
def test_a_line_that_begins_with_a_program_is_one_for_the_shell(line: str) -> None:
    assert is_shell_line(line)


@pytest.mark.parametrize(
    "code", ["print(1)", "ls", "nosuchprogram -x a", "ls -l\nprint(1)", "print(1", "", "sort = 1"]
)
def test_python_and_what_is_neither_is_none(code: str) -> None:
    assert not is_shell_line(code)
