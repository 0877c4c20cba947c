import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.models.transports.common.dialects import adapt
from hermes.types.profile import Dialect

DIALECTS: tuple[Dialect, ...] = ("", "strict", "llama_cpp", "gemini", "moonshot")


def tool(schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "t", "description": "d", "parameters": schema}}


def adapted(schema: Any, dialect: Dialect, *without: Any) -> Any:
    (only,) = adapt([tool(schema)], dialect, without)
    return only["function"]["parameters"]


def around(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


def inner(schema: Any, dialect: Dialect, *without: Any) -> Any:
    return adapted(around(schema), dialect, *without)["properties"]["x"]


PLAIN = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "where"}, "limit": {"type": "integer"}},
    "required": ["path"],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_plain_definition_stays_as_it_is(dialect: Dialect) -> None:
    assert adapt([tool(PLAIN)], dialect) == [tool(PLAIN)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_root_that_is_no_plain_object_becomes_one(dialect: Dialect) -> None:
    schema = {
        "anyOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}},
        ]
    }
    assert adapted(schema, dialect) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    }
    pointing = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    assert adapted(pointing, dialect)["properties"] == {"a": {"type": "string"}}
    assert adapted({"type": "object"}, dialect) == {"type": "object", "properties": {}} | (
        {"additionalProperties": False} if dialect == "strict" else {}
    )


STRICT = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "items": {"type": "array", "items": {"type": "string", "maxLength": 3}},
    },
    "required": ["items", "kind"],
}


def test_strict_marks_what_can_be_strict_and_leaves_the_rest_alone() -> None:
    (strict,) = adapt([tool(STRICT)], "strict")
    assert strict["function"]["strict"] is True
    assert strict["function"]["parameters"] == {
        **STRICT,
        "properties": {"kind": {"enum": ["a", "b"]}, "items": {"type": "array", "items": {"type": "string"}}},
        "additionalProperties": False,
    }
    assert adapt([tool(STRICT)], "strict", ["strict"]) == [tool(STRICT)]


@pytest.mark.parametrize(
    "schema",
    [
        PLAIN,
        around({"type": "object"}),
        around({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        around({"not": {"type": "string"}}),
        around({}),
        around({"type": "array"}),
        {**around({"type": "string"}), "additionalProperties": True},
    ],
)
def test_strict_does_not_change_what_a_schema_means(schema: Any) -> None:
    assert adapt([tool(schema)], "strict") == [tool(schema)]


@pytest.mark.parametrize(
    ("dialect", "before", "after"),
    [
        ("llama_cpp", {"type": "string", "pattern": "(?=x)", "format": "uri"}, {"type": "string"}),
        ("llama_cpp", {"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ("llama_cpp", {"description": "whatever"}, {}),
        ("llama_cpp", {"type": "object", "properties": {"pattern": {"type": "string"}}}, {"type": "object", "properties": {"pattern": {"type": "string"}}}),
        ("gemini", {"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ("gemini", {"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ("gemini", {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}, {"type": "string", "description": "d", "nullable": True}),
        ("gemini", {"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ("gemini", {"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ("gemini", {"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ("gemini", {"const": "a"}, {"type": "string", "enum": ["a"]}),
        ("gemini", {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2, "default": 3}, {"type": "integer", "minimum": 0}),
        ("gemini", {"type": "array"}, {"type": "array", "items": {}}),
        ("gemini", {"type": "object", "properties": {"a": {"$ref": "#/properties/x"}}, "additionalProperties": False}, None),
        ("moonshot", {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}}},
         {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}}}]}),
        ("moonshot", {"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ("moonshot", {"type": ["string", "null"], "maxLength": 3, "description": "d"}, {"description": "d", "anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}),
        ("moonshot", {"$ref": "#/$defs/A", "description": "d"}, {"$ref": "#/$defs/A"}),
        ("moonshot", {"description": "anything"}, {"description": "anything", "anyOf": [{"type": t} for t in ("string", "number", "boolean", "object", "array", "null")]}),
    ],
)  # fmt: skip
def test_each_dialect_says_it_its_way(dialect: Dialect, before: Any, after: Any) -> None:
    if after is None:
        assert "$ref" not in json.dumps(inner(before, dialect))
    else:
        assert inner(before, dialect) == after


def test_patterns_are_dropped_everywhere_when_the_endpoint_has_refused_them() -> None:
    schema = {
        "type": "object",
        "properties": {"format": {"type": "string", "format": "uri", "pattern": "^h"}},
        "pattern": "x",
    }
    assert inner(schema, "", "schema_patterns") == {
        "type": "object",
        "properties": {"format": {"type": "string"}},
    }


def leaves() -> st.SearchStrategy[Any]:
    words = st.sampled_from(["a", "b", "10", ""])
    return st.one_of(
        st.just({}),
        st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(2, 4), "pattern": st.sampled_from(["^a", "b$"]), "format": st.sampled_from(["date", "uri"])}),
        st.fixed_dictionaries({"type": st.sampled_from(["integer", "number"])}, optional={"minimum": st.integers(-2, 2), "exclusiveMaximum": st.integers(1, 4), "description": words}),
        st.sampled_from(["boolean", "null"]).map(lambda name: {"type": name}),
        st.lists(st.one_of(words, st.integers(0, 2), st.none(), st.booleans()), min_size=1, max_size=3, unique_by=repr).map(lambda values: {"enum": values}),
        words.map(lambda value: {"const": value}),
        st.lists(st.sampled_from(["string", "integer", "null", "array"]), min_size=1, max_size=3, unique=True).map(lambda names: {"type": names}),
        st.just({"$ref": "#/$defs/D"}),
    )  # fmt: skip


def branches(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "pattern"])
    things = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(names, inside, max_size=3)},
        optional={"required": st.lists(names, unique=True), "additionalProperties": st.one_of(st.booleans(), inside), "anyOf": st.lists(inside, min_size=1, max_size=2)},
    )  # fmt: skip
    return st.one_of(
        things,
        st.fixed_dictionaries(
            {"type": st.just("array")}, optional={"items": inside, "maxItems": st.integers(0, 3)}
        ),
        st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(
            lambda name: st.lists(inside, min_size=1, max_size=3).map(lambda each: {name: each})
        ),
        leaves().filter(bool).map(lambda schema: {"type": "string", "not": schema}),
    )


SCHEMAS = st.recursive(leaves(), branches, max_leaves=8)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 5),
        st.sampled_from(["a", "b", "ab", "", "10", "2020-01-01"]),
    ),
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "pattern"]), inside, max_size=3),
    ),
    max_leaves=6,
)


def with_null(schema: Any) -> Any:
    """`nullable` as plain JSON Schema says it."""
    if isinstance(schema, list):
        return [with_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    new = {name: with_null(value) for name, value in schema.items()}
    return {"anyOf": [new, {"type": "null"}]} if new.pop("nullable", None) is True else new


USUAL = [
    None,
    True,
    0,
    1,
    1.5,
    3,
    "",
    "a",
    "b",
    "10",
    [],
    ["a"],
    [None],
    {},
    {"a": "a"},
    {"a": None},
    {"a": 1, "b": "b"},
]


@settings(max_examples=100, deadline=None)
@given(SCHEMAS, st.lists(VALUES, max_size=6), st.booleans())
def test_a_dialect_of_a_valid_schema_is_valid_and_accepts_what_the_schema_accepts(
    schema: Any, values: list[Any], plain: bool
) -> None:
    whole = {
        **around(schema),
        "$defs": {
            "D": {"type": "object", "properties": {"a": {"type": "string"}, "again": {"$ref": "#/$defs/D"}}}
        },
    }
    before = jsonschema.Draft202012Validator(whole)
    good = [value for value in [*USUAL, *values] if before.is_valid({"x": value})]
    for dialect in DIALECTS:
        (definition,) = adapt([tool(whole)], dialect, ["schema_patterns"] if plain else [])
        new = definition["function"]["parameters"]
        jsonschema.Draft202012Validator.check_schema(new)
        after = jsonschema.Draft202012Validator(with_null(new))
        wrong = [value for value in good if not after.is_valid({"x": value})]
        assert (dialect, wrong) == (dialect, []) or "strict" in definition[
            "function"
        ]  # strict closes objects on purpose


@settings(max_examples=80, deadline=None)
@given(SCHEMAS)
def test_no_word_that_a_server_refuses_is_left(schema: Any) -> None:
    whole = {**around(schema), "$defs": {"D": {"type": "string"}}}
    gemini = json.dumps(adapted(whole, "gemini"))
    assert not any(
        f'"{word}":' in gemini
        for word in ("$ref", "$defs", "additionalProperties", "oneOf", "not", "const", "exclusiveMaximum")
    )
    llama = json.dumps(adapted(whole, "llama_cpp"))
    assert not any(f'"{word}":' in llama for word in ("not", "if", "$schema", "propertyNames"))
    for each in subschemas(inner(schema, "moonshot")):
        assert ("type" in each) != ("anyOf" in each or "$ref" in each)


def subschemas(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    below = [
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", ()),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    return [schema, *(found for each in below for found in subschemas(each))]
