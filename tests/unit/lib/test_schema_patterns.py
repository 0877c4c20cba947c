"""A comparison with an expression of a schema ends, whatever the expression is."""

import pytest

from hermes.lib.schema_patterns import schema_checker, takes_long


@pytest.mark.parametrize(
    ("pattern", "length", "long"),
    [
        (r"^(a+)+$", 40, True),
        (r"^(?:a|aa)*$", 40, True),
        (r"^(a?b?){30}$", 40, True),
        (r"^((a*)b)*$", 40, True),
        (r"a*a*a*a*b", 1_000, True),
        (r"\s+$", 100_000, False),
        (r"^(\d{3}-){2}\d{4}$", 100_000, False),
        (r"^[(a+)+]+$", 100_000, False),
        (r"^\(a+\)+$", 1_000, False),
        (r"^(a+)+$", 12, False),
    ],
)
def test_how_long_it_may_take_is_told_beforehand(pattern: str, length: int, long: bool) -> None:
    assert takes_long(pattern, "a" * length) is long


def test_a_text_that_would_take_without_end_counts_as_one_that_fits() -> None:
    endless, text = "^(a+)+$", "a" * 200 + "!"
    schema = {
        "properties": {"name": {"pattern": endless}},
        "patternProperties": {endless: {"type": "string"}},
        "additionalProperties": False,
    }
    assert list(schema_checker()(schema).iter_errors({"name": text, text: 1})) == []


def test_what_ends_soon_is_compared() -> None:
    schema = {"properties": {"name": {"pattern": "^(a+)+$"}}, "additionalProperties": False}
    faults = [one.message for one in schema_checker()(schema).iter_errors({"name": "ab", "other": 1})]
    assert sorted(faults) == [
        "'ab' does not match '^(a+)+$'",
        "Additional properties are not allowed ('other' was unexpected)",
    ]
