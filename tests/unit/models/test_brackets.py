"""Brackets that a small model forgot are closed; all other code stays as it is."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.local.brackets import close_brackets


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
