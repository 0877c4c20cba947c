"""Edits find the place that is meant, or say why not."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.edit.cascade import RULES, NoMatch, Replaced, replace_text

FILE = 'def f(a):\n    if a:\n        return "x"\n    return None\n\n\ndef g(b):\n\treturn b\n'

CASES = {
    "exact": ('return "x"', 'return "y"', '        return "y"\n'),
    "trailing space ignored": ("    if a:  \n", "    if not a:\n", "    if not a:\n"),
    "line ends trimmed": (
        '  if a:\n    return "x"',
        '  if a:\n    log()\n    return "z"',
        '    if a:\n        log()\n        return "z"\n',
    ),
    "white space run together": ("    return    None", "    return 0", "    return 0\n"),
    "escapes resolved": (
        'if a:\\n        return \\"x\\"',
        "if a:\n        return 2",
        "    if a:\n        return 2\n",
    ),
    "outer white space dropped": ("\n\n  return None\n\n\n\ndef g", "x", None),
    "look-alike characters": ("return “x”", 'return "w"', '        return "w"\n'),
}


@pytest.mark.parametrize("rule", [rule for rule in CASES if CASES[rule][2]])
def test_each_rule_finds_its_place_and_is_named(rule: str) -> None:
    old, new, expected = CASES[rule]
    done = replace_text(FILE, old, new)
    assert (done.rule, done.count) == (rule, 1)
    assert expected is not None
    assert expected in done.text


def test_the_rules_are_tried_from_exact_to_loose() -> None:
    assert [name for name, _ in RULES] == [
        "exact",
        "trailing space ignored",
        "line ends trimmed",
        "white space run together",
        "indentation shifted",
        "escapes resolved",
        "outer white space dropped",
        "look-alike characters",
        "first and last line",
        "most lines",
    ]


def test_indentation_follows_the_file() -> None:
    done = replace_text(
        "class A:\n        def f(self):\n                pass\n",
        "def f(self):\n    pass",
        "def f(self):\n    if 1:\n        pass",
    )
    assert done.text == "class A:\n        def f(self):\n                if 1:\n                    pass\n"


def test_a_block_is_found_by_its_ends_when_the_middle_is_much_the_same() -> None:
    text = "start()\nfirst_step(one)\nsecond_step(two)\nend()\nrest\n"
    done = replace_text(text, "start()\nfirst_step(one)\nsecond_step(too)\nend()\n", "start()\nend()\n")
    assert done == Replaced("start()\nend()\nrest\n", "first and last line", 1)


def test_a_block_is_found_by_most_of_its_lines() -> None:
    text = "a = load_all()\nb = 2\nc = 3\nd = 4\ne = 5\n"
    done = replace_text(text, "a = load_al()\nb = 2\nc = 3\nd = 4\n", "new\n")
    assert (done.rule, done.text) == ("most lines", "new\ne = 5\n")


@pytest.mark.parametrize("old", ["return", "    return"])
def test_two_places_are_refused_unless_all_are_meant(old: str) -> None:
    with pytest.raises(NoMatch, match=r"fits \d places"):
        replace_text(FILE, old, "yield")
    assert replace_text(FILE, "return", "yield", every=True).count == 3


def test_what_is_not_there_is_refused_with_the_nearest_line() -> None:
    with pytest.raises(NoMatch, match="nearest line is 7: def g"):
        replace_text(FILE, "def gg(b):\n    something else entirely", "x")
    for old, new in (("", "x"), ("x", "x")):
        with pytest.raises(NoMatch):
            replace_text(FILE, old, new)


@given(st.text(), st.text(min_size=1), st.text(), st.text())
def test_an_exact_single_place_is_replaced_and_nothing_else(
    before: str, old: str, new: str, after: str
) -> None:
    text = before + old + after
    if text.count(old) == 1 and old != new and text.find(old, text.find(old) + 1) < 0:
        assert replace_text(text, old, new).text == before + new + after


@given(
    st.text(alphabet="ab \t\n\\'\"“", max_size=60),
    st.text(alphabet="ab \t\n\\'\"“", max_size=20),
    st.text(max_size=10),
)
def test_any_edit_ends_in_a_text_or_a_reason(text: str, old: str, new: str) -> None:
    with contextlib.suppress(NoMatch):
        assert replace_text(text, old, new).count == 1
