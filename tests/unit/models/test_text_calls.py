import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.local.call_styles import recover

NAMES = ("terminal", "read_file")
LS = {"command": "ls -a"}


def _found(text: str) -> tuple[str, list[tuple[str, object]]]:
    rest, calls = recover(text, NAMES)
    return rest, [(call.name, call.arguments) for call in calls]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "terminal", "arguments": {"command": "ls -a"}}',
        '{"tool": "terminal", "arguments": {"command": "ls -a"}}',
        '{"name": "terminal", "parameters": {"command": "ls -a"}}',
        '{"name": "terminal", "arguments": "{\\"command\\": \\"ls -a\\"}"}',
        '{"type": "function", "function": {"name": "terminal", "arguments": {"command": "ls -a"}}}',
        '```json\n{"name": "terminal", "arguments": {"command": "ls -a"}}\n```',
        '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls -a"}}\n</tool_call>',
        '<tool_call>{"name": "terminal", "arguments": {"command": "ls -a"}}',
        '{{"name": "terminal", "arguments": {{"command": "ls -a"}}}}',
        "{'name': 'terminal', 'arguments': {'command': 'ls -a'}}",
        '[{"name": "terminal", "arguments": {"command": "ls -a"}}]',
        '{"name": "terminal", "arguments": {"command": "ls -a",}}',
    ],
)
def test_every_known_way_of_printing_a_call_is_read(text: str) -> None:
    assert _found(text) == ("", [("terminal", LS)])


def test_words_around_a_call_stay_and_calls_keep_their_order() -> None:
    text = 'First this.\n{"name": "terminal", "arguments": {}}\nThen {"name": "read_file", "arguments": {"path": "a}b"}} after.'
    assert _found(text) == ("First this.\n\nThen  after.", [("terminal", {}), ("read_file", {"path": "a}b"})])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "launch_rocket", "arguments": {}}',
        '{"name": "terminal", "arguments": ["ls"]}',
        '{"name": "terminal"}',
        '{"example": {"name": "terminal", "arguments": {}}}',
        "a { b",
        "{terminal}",
        "",
    ],
)
def test_what_is_no_call_of_a_real_tool_is_left_as_it_was(text: str) -> None:
    assert recover(text, NAMES) == (text, ())


def test_a_mended_call_says_so_and_a_clean_one_does_not() -> None:
    clean, mended = (
        '{"name": "terminal", "arguments": {"command": "ls -a"}}',
        "{'name': 'terminal', 'arguments': {'command': 'ls -a'}}",
    )
    assert [recover(text, NAMES)[1][0].repaired for text in (clean, mended)] == [False, True]


def test_ids_come_from_the_caller_when_it_gives_them() -> None:
    ids = iter(["a", "b"])
    text = '{"name": "terminal", "arguments": {}} {"name": "terminal", "arguments": {}}'
    assert [call.id for call in recover(text, NAMES, lambda: next(ids))[1]] == ["a", "b"]


@given(st.text(alphabet=st.sampled_from("{}[]\"'\\ name:terminal,<>`\n"), max_size=200))
def test_no_text_breaks_it_and_text_without_calls_is_unchanged(text: str) -> None:
    rest, calls = recover(text, NAMES)
    assert calls or rest == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.sampled_from(["", "Sure, here:\n", "```json\n", "<tool_call>"]),
)
def test_a_call_in_plain_json_comes_back_with_the_same_arguments(
    arguments: dict[str, object], before: str
) -> None:
    _, calls = recover(before + json.dumps({"name": "read_file", "arguments": arguments}), NAMES)
    assert [(call.name, call.arguments, call.repaired) for call in calls] == [("read_file", arguments, False)]
