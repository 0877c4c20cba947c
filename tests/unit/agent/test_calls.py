from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.calls import overlap, plan
from hermes.agent.guardrails import signature
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.registry import PROCESS
from hermes.types.message import ToolCall
from hermes.types.tool import UNDECLARED, ToolManifest

discover_builtin_tools()


def manifest_of(one: ToolCall) -> ToolManifest:
    entry = PROCESS.get_entry(one.name)
    return entry.manifest if entry else UNDECLARED


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=name, name=name, arguments=arguments)


def groups(*calls: ToolCall) -> list[list[str]]:
    return [
        [f"{one.name}:{one.arguments.get('path', '')}" for one in group]
        for group in plan(calls, manifest_of, "/w")
    ]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("search_files"), call("search_files"), call("search_files")], [3]),
        ([call("terminal"), call("terminal")], [1, 1]),
        ([call("read_file", path="a"), call("write_file", path="b")], [2]),
        ([call("read_file", path="a"), call("write_file", path="a")], [1, 1]),
        ([call("write_file", path="/w/a"), call("read_file", path="./x/../a")], [1, 1]),
        ([call("write_file", path="a/b.py"), call("read_file", path="a")], [1, 1]),
        ([call("write_file", path="ab"), call("read_file", path="a")], [2]),
        ([call("search_files"), call("terminal"), call("search_files"), call("search_files")], [1, 1, 2]),
        ([call("unheard_of"), call("unheard_of")], [1, 1]),
        (
            [
                call("patch", mode="patch", patch="*** Begin Patch\n*** Update File: a\n@@"),
                call("read_file", path="a"),
            ],
            [1, 1],
        ),
        (
            [
                call("patch", mode="patch", patch="*** Begin Patch\n*** Update File: a\n@@"),
                call("read_file", path="b"),
            ],
            [2],
        ),
    ],
)
def test_calls_go_side_by_side_only_where_every_policy_and_path_allows_it(
    calls: list[ToolCall], expected: list[int]
) -> None:
    planned = plan(calls, manifest_of, "/w")
    assert [len(group) for group in planned] == expected
    assert [one for group in planned for one in group] == calls


paths = st.lists(st.sampled_from(["a", "b", "a/b", "a/b/c", "/w/a", "../w/b", "."]), max_size=8)


@given(paths)
def test_no_two_calls_of_a_group_touch_overlapping_paths(wanted: list[str]) -> None:
    calls = [call("write_file", path=path) for path in wanted]
    for group in plan(calls, manifest_of, "/w"):
        places = [f"/w/{one.arguments['path']}" for one in group]
        for at, place in enumerate(places):
            assert not any(overlap(place, other) for other in places[at + 1 :])
    assert [one for group in plan(calls, manifest_of, "/w") for one in group] == calls


def test_a_digest_is_of_what_would_be_done() -> None:
    one, same, other = call("t", a=1, b=2), call("t", b=2, a=1), call("t", a=1, b=3)
    assert signature(one) == signature(same) != signature(other)
