"""Tools that are not shown are found by what they do, and a call through tool_call is the call of the tool."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.deferred import called, search
from hermes.types.message import ToolCall
from hermes.types.tool import ToolEntry, ToolSnapshot


def definition(name: str, description: str, *parameters: str) -> Mapping[str, Any]:
    shape = {"type": "object", "properties": {one: {"type": "string"} for one in parameters}}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": shape},
    }


MAIL = definition("send_mail", "Send a message to people.", "to", "subject")
WEATHER = definition("forecast", "Tells tomorrow's weather of a city.", "city")
ISSUES = definition("issues_list", "Issues of a repository, open ones first.", "repository", "label")
POST = definition("почта", "Отправить письмо.", "кому")
ALL = (MAIL, WEATHER, ISSUES, POST)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("mail", [MAIL]),
        ("send a mail", [MAIL]),
        ("email", [MAIL]),
        ("weather in my city", [WEATHER]),
        ("list open issues of a repository", [ISSUES]),
        ("письмо", [POST]),
        ("label", [ISSUES]),
        ("rocket", []),
        ("", [MAIL, WEATHER]),
    ],
)
def test_a_search_finds_by_name_description_and_arguments(query: str, found: list[Mapping[str, Any]]) -> None:
    assert search(query, ALL, 2)[: max(1, len(found))] == found


@given(st.text(max_size=60), st.integers(1, 4))
def test_a_search_gives_some_of_the_tools_and_none_twice(query: str, limit: int) -> None:
    found = [one["function"]["name"] for one in search(query, ALL, limit)]
    assert len(found) == len(set(found)) <= limit


def entry(name: str) -> ToolEntry:
    return ToolEntry(name=name, toolset="mine", schema={}, handler=str)


TOOLS = ToolSnapshot(
    tools={name: entry(name) for name in ("tool_call", "send_mail")}, definitions=(), generation=0
)


def through(name: Any, arguments: Any) -> ToolCall:
    return ToolCall(id="c", name="tool_call", arguments={"name": name, "arguments": arguments}, raw="…")


@pytest.mark.parametrize("arguments", [{"to": "ada"}, '{"to": "ada"}'])
def test_a_call_through_tool_call_is_the_call_of_the_tool(arguments: object) -> None:
    assert called(through("send_mail", arguments), TOOLS) == ToolCall(
        id="c", name="send_mail", arguments={"to": "ada"}, raw="…"
    )


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (through("send_male", {}), "There is no tool 'send_male' to call; tool_search finds those that there are."),
        (through("tool_call", {}), "There is no tool 'tool_call' to call; tool_search finds those that there are."),
        (through("send_mail", [1]), "arguments is an object with what the tool takes."),
    ],
)  # fmt: skip
def test_a_call_of_what_is_not_there_has_a_fault(call: ToolCall, fault: str) -> None:
    told = called(call, TOOLS)
    assert (told.name, told.fault) == ("tool_call", fault)


def test_arguments_that_had_to_be_guessed_are_a_fault() -> None:
    assert called(through("send_mail", '{"to": "a'), TOOLS).fault


def test_where_nothing_is_deferred_a_call_is_what_it_says() -> None:
    plain = ToolSnapshot(tools={"send_mail": entry("send_mail")}, definitions=(), generation=0)
    call = through("send_mail", {})
    assert called(call, plain) is call
