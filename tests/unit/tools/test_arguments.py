from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hermes.tools.arguments import ArgumentError, compiled

PROPERTIES = {
    "path": {"type": "string"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 10},
    "deep": {"type": "boolean"},
    "mode": {"type": "string", "enum": ["a", "b"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "extra": {"type": "object"},
    "share": {"type": "number"},
}
PARAMETERS: dict[str, Any] = {"type": "object", "properties": PROPERTIES, "required": ["path"]}
SCHEMA = {"name": "t", "parameters": PARAMETERS}


@pytest.mark.parametrize(
    ("given_", "ready"),
    [
        ({"path": "a", "limit": "3"}, {"path": "a", "limit": 3}),
        ({"path": "a", "limit": 3.0}, {"path": "a", "limit": 3}),
        ({"path": "a", "limit": "3.0"}, {"path": "a", "limit": 3}),
        ({"path": "a", "deep": "true"}, {"path": "a", "deep": True}),
        ({"path": "a", "extra": '{"x": 1}'}, {"path": "a", "extra": {"x": 1}}),
        ({"path": "a", "tags": '["x", "y"]'}, {"path": "a", "tags": ["x", "y"]}),
        ({"path": "a", "share": "0.5"}, {"path": "a", "share": 0.5}),
        ({"path": 7}, {"path": "7"}),
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "unknown": 1}, {"path": "a", "unknown": 1}),
    ],
)
def test_what_was_plainly_meant_is_made_to_fit(given_: dict[str, Any], ready: dict[str, Any]) -> None:
    prepared = compiled(SCHEMA).prepare(given_)
    assert prepared == ready
    assert {name: type(value) for name, value in prepared.items()} == {
        name: type(value) for name, value in ready.items()
    }


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "'path' is a required property"),
        ({"path": "a", "limit": 11}, "limit: 11 is greater than the maximum of 10"),
        ({"path": "a", "limit": "many"}, "limit: 'many' is not of type 'integer'"),
        ({"path": "a", "mode": "c"}, "mode: 'c' is not one of ['a', 'b']"),
        ({"path": "a", "share": "NaN"}, "share: 'NaN' is not of type 'number'"),
        ({"path": "a", "tags": [1, {}]}, "tags.1: {} is not of type 'string'"),
        ({"path": None}, "path: None is not of type 'string'"),
    ],
)
def test_what_does_not_fit_is_told_with_what_is_allowed(given_: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as fault:
        compiled(SCHEMA).prepare(given_)
    assert words in str(fault.value)
    assert 'path* (string), limit (integer), deep (boolean), mode (one of "a", "b")' in str(fault.value)


def test_a_schema_with_more_than_plain_words_is_checked_in_full() -> None:
    schema = {
        "name": "t",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}},
    }
    assert compiled(schema).prepare({"n": 4}) == {"n": 4}
    with pytest.raises(ArgumentError, match="multiple of 2"):
        compiled(schema).prepare({"n": 3})


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 20) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*PROPERTIES, "other"]), values))
def test_what_is_let_through_fits_the_schema_and_what_fits_is_let_through_unchanged(
    given_: dict[str, Any],
) -> None:
    arguments, validator = compiled(SCHEMA), Draft202012Validator(PARAMETERS)
    fits = validator.is_valid(given_)
    try:
        ready = arguments.prepare(given_)
    except ArgumentError:
        assert not fits
        return
    assert validator.is_valid(ready)
    if fits:
        assert ready == given_
