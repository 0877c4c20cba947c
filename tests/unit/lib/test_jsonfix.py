import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.jsonfix import parse_arguments

LETTERS = '{}[]",:\\ \n\t0123456789eE+-.truefalsn\x00ü"\'u'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("null", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": "two\nlines\tand\x01"}', {"a": "two\nlines\tand\x01"}),
        ('{"a": [1, 2,], "b": "x,}",}', {"a": [1, 2], "b": "x,}"}),
        ('{"a": "new\nline",\n}', {"a": "new\nline"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    ],
)
def test_what_is_unambiguous_is_read(text: str, value: dict[str, Any]) -> None:
    found = parse_arguments(text)
    assert (found.value, found.fault) == (value, "")


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ('{"a": 1', {"a": 1}),
        ('{"a": [1, {"b": "x', {"a": [1, {"b": "x"}]}),
        ('{"a": ', {"a": None}),
        ('{"a": 1, ', {"a": 1}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": 1}}}', {"a": 1}),
        ('{"a": [1}]}', {"a": [1]}),
        ('{"a": 1} and more', {"a": 1}),
        ('{"path": "C:\\Users\\x"}', {"path": "C:\\Users\\x"}),
        ("{'a': 1}", {}),
        ('{"a": NaN}', {}),
        ('{"a": 1e999}', {}),
        ("{,}", {}),
        ('{"a": 1,,}', {}),
        ("[1]", {}),
        ("17", {}),
        ("[" * 5000, {}),
        ('{"a":' * 100_000, {}),
    ],
)
def test_what_is_guessed_is_a_fault(text: str, guess: dict[str, Any]) -> None:
    found = parse_arguments(text)
    assert found.value == guess
    assert "was not run" in found.fault


def without_trailing_commas(text: str) -> str:
    """The plainest way to drop commas before a closer, letter by letter."""
    kept: list[str] = []
    inside = skip = False
    for letter in text:
        if inside:
            skip, inside = letter == "\\" and not skip, letter != '"' or skip
        elif letter in "]}":
            back = len(kept)
            while back and kept[back - 1].isspace():
                back -= 1
            before = back - 1
            while before and kept[before - 1].isspace():
                before -= 1
            if back and kept[back - 1] == "," and before and kept[before - 1] not in "{[,:":
                del kept[back - 1]
        elif letter == '"':
            inside = True
        kept.append(letter)
    return "".join(kept)


def refuse(word: str) -> Any:
    raise ValueError(word)


def read(text: str) -> Any:
    """What json says, with raw control characters in strings; ValueError for the rest."""
    return json.loads(text, strict=False, parse_constant=refuse)


def meaning(text: str) -> Any:
    """Every unambiguous reading there is."""
    if not text.strip():
        return {}
    try:
        value = read(text)
    except ValueError:
        value = read(without_trailing_commas(text))
    if isinstance(value, str):
        return meaning(value)
    return {} if value is None else value


def check(text: str) -> bool:
    """Whether the text would run; what would run is exactly what it says."""
    found = parse_arguments(text)
    json.dumps(found.value, allow_nan=False)
    if found.fault:
        return False
    assert found.value == meaning(text), text
    return True


EXAMPLES = (
    '{"path": "src/a b.py", "line": 12, "deep": {"list": [1, -2.5e3, true, null, "x\\ny\\u00fc"]}}',
    '{"command": "rm -rf \\"$TMP\\"/*", "timeout": 30}',
    '{"content": "def f():\\n    return {\\"a\\": [1, 2]}\\n", "edits": [{"old": "x", "new": "y"}, {"old": "", "new": "{"}]}',
)


def mutated(text: str, dice: random.Random) -> str:
    letters = list(text)
    for _ in range(dice.randint(1, 4)):
        place, action = dice.randrange(len(letters) + 1), dice.randrange(5)
        if action == 0 and letters:
            del letters[place : place + dice.randint(1, 6)]
        elif action == 1:
            letters[place:place] = dice.choice(LETTERS)
        elif action == 2:
            letters[place : place + 1] = dice.choice(LETTERS)
        elif action == 3:
            letters[place:place] = letters[max(0, place - dice.randint(1, 5)) : place]
        else:
            del letters[place:]
    return "".join(letters)


def sweep(count: int, seed: int) -> None:
    dice = random.Random(seed)
    ran = sum(check(mutated(EXAMPLES[number % len(EXAMPLES)], dice)) for number in range(count))
    assert 0 < ran < count


def test_no_mutation_of_arguments_is_run_by_guess() -> None:
    sweep(40_000, 22)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_mutation_of_a_million_is_run_by_guess() -> None:
    sweep(1_000_000, 23)


@given(st.text(LETTERS, max_size=40))
def test_nothing_made_of_the_letters_of_json_is_run_by_guess(text: str) -> None:
    check(text)
    check("{" + text + "}")


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inside: st.one_of(
        st.lists(inside, max_size=4), st.dictionaries(st.text(max_size=4), inside, max_size=4)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_json_is_read_as_json(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    found = parse_arguments(text)
    assert (found.value, found.fault) == (json.loads(text), "")
