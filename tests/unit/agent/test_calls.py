import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.call_order import in_order, overlap
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


def waits(*calls: ToolCall, cwd: str = "/w") -> list[list[int]]:
    """For each call the numbers of those that it waits for."""
    places = in_order(calls, manifest_of, cwd)
    assert [place.call for place in places] == list(calls)
    return [[places.index(other) for other in place.before] for place in places]


SEARCH, RUN = call("search_files"), call("terminal")
A, B = "*** Begin Patch\n*** Update File: a\n@@", "*** Begin Patch\n*** Update File: b\n@@"


def read(path: str) -> ToolCall:
    return call("read_file", path=path)


def write(path: str) -> ToolCall:
    return call("write_file", path=path)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([SEARCH, SEARCH, read("a"), read("a")], [[], [], [], []]),
        ([RUN, RUN], [[], [0]]),
        ([read("a"), write("b")], [[], []]),
        ([read("a"), write("a")], [[], [0]]),
        ([write("/w/a"), read("./x/../a"), read("b")], [[], [0], []]),
        ([write("a/b.py"), read("a"), write("ab")], [[], [0], []]),
        ([write("a"), SEARCH, read("b")], [[], [0], []]),
        ([SEARCH, RUN, SEARCH, read("a")], [[], [0], [1], [1]]),
        ([call("unheard_of"), read("a"), call("unheard_of")], [[], [0], [0, 1]]),
        ([call("patch", mode="patch", patch=A), read("a"), read("b")], [[], [0], []]),
        ([call("patch", mode="patch", patch=A), call("patch", mode="patch", patch=B)], [[], []]),
        ([RUN, write("a"), write("../w/a"), read("b")], [[], [0], [0, 1], [0, 1, 2]]),
        ([RUN, write("/w/a"), write("/w/b")], [[], [0], [0]]),
        ([call("session_search"), write("a")], [[], []]),
    ],
)  # fmt: skip
def test_a_call_waits_for_those_before_it_that_it_may_affect_or_be_affected_by(
    calls: list[ToolCall], expected: list[list[int]]
) -> None:
    assert waits(*calls) == expected


@pytest.mark.parametrize(
    "name", ["./sub//a", "sub/../sub/a", "hard", "soft", "way/a", "away/../sub/a", "{}/sub/a"]
)
def test_a_file_is_the_same_by_every_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a").write_text("one\n")
    (tmp_path / "hard").hardlink_to(tmp_path / "sub" / "a")
    (tmp_path / "soft").symlink_to("sub/a")
    (tmp_path / "way").symlink_to("sub")
    (tmp_path / "away").symlink_to("other/deep")
    again = name.format(tmp_path)
    assert waits(write("sub/a"), write(again), write("b"), cwd=str(tmp_path)) == [[], [0], []]


paths = st.lists(st.sampled_from(["a", "b", "a/b", "a/b/c", "/w/a", "../w/b", "."]), max_size=8)


@given(paths)
def test_of_two_writes_of_overlapping_paths_the_second_waits(wanted: list[str]) -> None:
    found = waits(*map(write, wanted))
    places = [f"/w/{path}" if not path.startswith("/") else path for path in wanted]
    places = [os.path.realpath(path) for path in places]
    for number, place in enumerate(places):
        assert found[number] == [at for at in range(number) if overlap(place, places[at])]


def test_a_digest_is_of_what_would_be_done() -> None:
    one, same, other = call("t", a=1, b=2), call("t", b=2, a=1), call("t", a=1, b=3)
    assert signature(one) == signature(same) != signature(other)
