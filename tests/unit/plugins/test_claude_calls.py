"""What calls are called for hooks of Claude Code: each file is there, nothing is lost, and no arguments are a fault."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hermes.plugins.claude_calls import absolute_from, calls_of, response_of, with_words
from hermes.plugins.claude_hooks import ClaudeHook, in_claudes_form
from hermes.plugins.settings import ShellHook

NAMES = {
    "terminal": ["Bash"],
    "execute_code": ["Bash"],
    "process": ["Bash"],
    "read_file": ["Read"],
    "write_file": ["Write"],
    "patch": ["Edit", "MultiEdit"],
    "search_files": ["Grep"],
    "web_search": ["WebSearch"],
    "web_extract": ["WebFetch"],
    "delegate_task": ["Task", "Agent"],
    "todo": ["TodoWrite"],
    "mcp__files__write": [],
}
ARGUMENTS = {
    "process": {"action": "submit", "data": "y"},
    "patch": {"path": "a", "old_string": "x", "new_string": "y"},
}
FIELDS = (
    "path",
    "content",
    "patch",
    "mode",
    "command",
    "urls",
    "url",
    "tasks",
    "goal",
    "target",
    "data",
    "code",
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)
PATHS = st.text("ab./~é -", min_size=1).filter(lambda path: path.strip() == path and path)
ABSOLUTE = absolute_from(lambda: "/work")


def fits(matcher: str, *names: str) -> str | None:
    hook = ShellHook(command="true", matcher=matcher)
    return ClaudeHook(event="PreToolUse", hook=hook).fitting(names)


def test_each_tool_has_its_names() -> None:
    found = {tool: calls_of(tool, ARGUMENTS.get(tool, {"path": "a"}), ABSOLUTE) for tool in NAMES}
    assert {tool: [one.names for one in calls] for tool, calls in found.items()} == {
        tool: [(*names, tool)] for tool, names in NAMES.items()
    }
    assert calls_of("search_files", {"target": "files"}, ABSOLUTE)[0].names == ("Glob", "search_files")


@given(st.sampled_from([*NAMES]), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_whatever_a_model_gives_there_is_a_call_with_all_of_it(tool: str, args: dict[str, Any]) -> None:
    found = calls_of(tool, args, ABSOLUTE)
    assert found
    assert {one.names[-1] for one in found} == {tool}
    assert all(set(args) <= set(one.arguments) for one in found)
    assert all(fits(matcher, *one.names) is not None for one in found for matcher in ("", "*", ".*", tool))


@given(
    st.lists(st.tuples(st.sampled_from(["Add", "Update", "Delete", "Move"]), PATHS), min_size=1, max_size=5)
)
def test_each_file_that_a_patch_would_change_is_in_a_call(changes: list[tuple[str, str]]) -> None:
    names = [f"{number}{path}" for number, (_, path) in enumerate(changes)]
    parts = {
        "Add": "*** Add File: {0}\n+x\n",
        "Update": "*** Update File: {0}\n@@\n-x\n+y\n",
        "Delete": "*** Delete File: {0}\n",
        "Move": "*** Update File: {0}\n*** Move to: {0}.new\n@@\n-x\n+y\n",
    }
    text = "".join(parts[kind].format(name) for (kind, _), name in zip(changes, names, strict=True))
    found = calls_of("patch", {"mode": "patch", "patch": text}, ABSOLUTE)
    moved = [f"{name}.new" for (kind, _), name in zip(changes, names, strict=True) if kind == "Move"]
    assert {one.path for one in found} == {ABSOLUTE(name) for name in (*names, *moved)}
    assert all(fits("Edit|Write", *one.names) is not None for one in found)


@given(PATHS)
def test_a_path_is_absolute_and_stays_as_it_is(path: str) -> None:
    once = ABSOLUTE(path)
    assert once.startswith("/")
    assert ABSOLUTE(once) == once


@given(st.lists(st.from_regex(r"[A-Za-z_]{1,8}", fullmatch=True), min_size=1), st.sampled_from("|,"))
def test_plain_names_are_a_list_and_fit_whole_names_alone(names: list[str], between: str) -> None:
    matcher = between.join(names)
    assert [fits(matcher, name) for name in names] == names
    assert fits(matcher, *(f"{name}9" for name in names)) is None


def test_a_command_takes_ten_minutes_at_most() -> None:
    """There are settings from when the number was one of milliseconds."""
    group = ShellHook(hooks=[{"command": "true", "timeout": seconds} for seconds in (5, 60_000)])
    found = [one.hook.timeout for one in in_claudes_form("Stop", group) if isinstance(one, ClaudeHook)]
    assert found == [5, 600]
    (end,) = in_claudes_form("SessionEnd", ShellHook(hooks=[{"command": "true"}]))
    assert isinstance(end, ClaudeHook)
    assert end.hook.timeout == 4


def test_a_pattern_fits_any_part_of_a_name_unless_it_is_anchored() -> None:
    assert fits("mcp__files__.*", "mcp__files__write") == "mcp__files__write"
    assert fits("Notebook.*|.*Edit", "Edit", "patch") == "Edit"
    assert fits("^Edit$", "MultiEdit") is None
    assert fits("Bash", "MyBash") is None
    assert fits(r"^(?<letter>[a-z])\k<letter>(?<!x)", "aab", "xx") == "aab"
    assert fits(r"\(?<a", "<a") == "<a"


@given(st.text(), st.text(min_size=1), st.sampled_from(["terminal", "write_file", "todo"]))
def test_a_result_keeps_what_it_had_and_has_the_words(result: str, words: str, tool: str) -> None:
    whole = msgspec.json.encode({"output": result}).decode()
    (one,) = calls_of(tool, {"path": "a"}, ABSOLUTE)
    assert response_of(one, whole)["output"] == result
    assert msgspec.json.decode(with_words(whole, words)) == {"output": result, "hook": words}
    assert with_words(f"#{result}", words) == f"#{result}\n\n[hook] {words}"
