"""Arguments made from schemas, the rules for schemas and results, and a handler under watch."""

import json
from typing import Any

import anyio.lowlevel
import pytest
from jsonschema import Draft202012Validator

from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.registry import PROCESS
from hermes.tools.verify.example_values import allowed_values, refused_values
from hermes.tools.verify.examples import UNKNOWN, example_arguments
from hermes.tools.verify.faults import ToolFault
from hermes.tools.verify.rules import parameters_of, result_faults, schema_faults
from hermes.tools.verify.watched import WatchedTool
from hermes.types.tool import ToolEntry

RICH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "kind": {"enum": ["a", "b"]},
        "fixed": {"const": 7},
        "count": {"type": "integer", "minimum": 3, "maximum": 9},
        "share": {"type": "number", "default": 0.25},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "both": {"type": ["integer", "null"]},
        "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
        "deep": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        "any": {},
        "odd": True,
    },
    "required": ["name", "kind"],
}


def test_examples_are_allowed_or_refused_as_they_say_the_same_each_time_and_try_every_parameter() -> None:
    found = example_arguments("rich", RICH)
    check = Draft202012Validator(RICH)
    assert [check.is_valid(one) for one in found.allowed] == [True] * len(found.allowed)
    assert [check.is_valid(one) for one in found.refused] == [False] * len(found.refused)
    assert example_arguments("rich", RICH) == found
    assert {name for one in found.allowed for name in one} == {*RICH["properties"], UNKNOWN}
    assert set(found.allowed[0]) == {"name", "kind"}
    assert (len(found.allowed), len(found.refused)) == (11, 16)


def test_an_unknown_argument_is_refused_where_the_schema_says_so() -> None:
    found = example_arguments("closed", {**RICH, "additionalProperties": False})
    assert [UNKNOWN in one for one in found.allowed] == [False] * len(found.allowed)
    assert UNKNOWN in found.refused[-1]


def test_there_are_examples_for_every_built_in_tool() -> None:
    discover_builtin_tools()
    for name, entry in PROCESS.entries().items():
        found = example_arguments(name, parameters_of(entry))
        assert found.allowed, name
        assert found.refused or not parameters_of(entry).get("properties"), name


@pytest.mark.parametrize(
    ("schema", "first"),
    [
        ({"const": 1}, 1),
        ({"enum": ["x"]}, "x"),
        ({"type": "boolean", "default": True}, True),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"oneOf": [{"type": "null"}]}, None),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "number", "maximum": 2.5}, 2.5),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 0]),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        ({}, "word"),
    ],
)
def test_the_plainest_value_comes_first(schema: dict[str, Any], first: object) -> None:
    assert allowed_values(schema)[0] == first


def test_what_could_be_meant_as_the_type_is_not_among_what_is_refused() -> None:
    assert refused_values({"type": "integer", "minimum": 1, "maximum": 3}) == ["seven", 1.5, {"not": 1}, 0, 4]
    assert refused_values({"type": "string", "minLength": 2, "maxLength": 3, "enum": ["ab"]}) == [
        {"not": "a text"},
        ["not a text"],
        "none of these values",
        "xxxx",
        "x",
    ]
    assert refused_values({"type": ["string", "null"]}) == []


def entry(**given: Any) -> ToolEntry:
    schema = {"name": "t", "description": "It does.", "parameters": given.pop("parameters", {})}
    return ToolEntry(
        **{"name": "t", "toolset": "x", "schema": schema, "handler": lambda args, **keywords: "{}", **given}
    )


def raising() -> dict[str, Any]:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, None),
        ({"name": "two words"}, "'two words' is no name that all providers take: letters, digits, _ and -, at most 64."),
        ({"schema": {"name": "t"}}, "it has no description: a model is not told what it is for."),
        ({"parameters": {"type": "str"}}, "its parameters are no JSON Schema (2020-12): 'str' is not valid under any of the given schemas."),
        ({"parameters": {"type": "array"}}, "its parameters are no object, and a model gives arguments by name."),
        ({"parameters": {"required": ["a", "b"], "properties": {"a": True}}}, "it requires b, which its properties do not have."),
        ({"parameters": {"properties": {"a": {"type": "integer", "default": "1"}}}}, "the default of a, '1', does not fit its own schema."),
        ({"dynamic_schema_overrides": raising}, "dynamic_schema_overrides raised KeyError: 'x'."),
        ({"dynamic_schema_overrides": lambda: {"description": " "}}, "it has no description: a model is not told what it is for."),
    ],
)  # fmt: skip
def test_a_fault_of_a_schema_is_told_in_a_sentence(given: dict[str, Any], words: str | None) -> None:
    assert schema_faults(entry(**given)) == ([ToolFault("schema", words)] if words else [])


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ('{"x": 1}', []),
        ('{"error": "It is not there."}', []),
        ('{"error": null}', []),
        ("[1]", []),
        (None, [("result", "it gave NoneType instead of a JSON string.")]),
        ("", [("result", "it gave no JSON (Expecting value: line 1 column 1 (char 0)): ''.")]),
        ('{"x": NaN}', [("result", "it gave no JSON (NaN is not JSON): '{\"x\": NaN}'.")]),
        ('{"error": 7}', [("error", "its error is int, not a sentence: 7.")]),
        (json.dumps({"error": "Traceback (most recent call last):\n  x"}), [("error", "its error is a traceback, not a sentence.")]),
        (json.dumps("x" * 100), [("size", "it gave 102 characters; its cap is 50.")]),
    ],
)  # fmt: skip
def test_a_fault_of_a_result_is_told_in_a_sentence(given: object, faults: list[tuple[str, str]]) -> None:
    found = result_faults(entry(max_result_size_chars=50 if given == json.dumps("x" * 100) else None), given)
    assert [(one.check, one.words) for one in found] == faults


def failing(args: Any, **keywords: Any) -> str:
    raise ValueError("no")


async def failing_later(args: Any, **keywords: Any) -> str:
    await anyio.lowlevel.checkpoint()
    raise ValueError("no")


def plain(args: Any, **keywords: Any) -> str:
    return str(args)


async def giving(args: Any, **keywords: Any) -> str:
    return str(args)


@pytest.mark.anyio
async def test_a_watched_handler_is_told_of_with_what_it_gave_and_raised_and_keeps_its_module() -> None:
    runs = []
    for handler, is_async in ((failing, False), (plain, False), (failing_later, True), (giving, True)):
        tool = WatchedTool(entry(handler=handler, is_async=is_async), tasks_are_its_own=False)
        watched = tool.watched().handler
        assert watched.__module__ == handler.__module__
        try:
            found: Any = watched({"a": 1})
            if is_async:
                await found
        except ValueError:
            pass
        runs += [(str(run.raised or ""), run.given, run.ended, run.left) for run in tool.runs]
    no, yes = ("no", None, True, ()), ("", "{'a': 1}", True, ())
    assert runs == [no, yes, no, yes]
