"""Bounds meet: a child never has more than its parent, whatever is asked for it."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.safety.bounds import closed_needs
from hermes.safety.decide import Policy, decide, is_concealed
from hermes.types.action import Command, ToolUse
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.tool import ToolManifest

FOLDERS = st.sampled_from(["/", "/w", "/w/a", "/w/a/b", "/wa", "/home/user", "/data"])
HOSTS = st.sampled_from(
    ["*", "example.org", "example.org:8443", "*.github.com", "api.github.com", "10.0.0.0/8", "10.1.2.3"]
)
NAMES = st.sampled_from(["*", "A_TOKEN", "A_*", "B", "mcp_x_*", "mcp_x_y"])


def some(names: "st.SearchStrategy[str]") -> "st.SearchStrategy[tuple[str, ...]]":
    return st.lists(names, max_size=3).map(tuple)


SETS = st.builds(
    Capabilities,
    read=some(FOLDERS),
    write=some(FOLDERS),
    hosts=some(HOSTS),
    secrets=some(NAMES),
    tools=some(NAMES),
    unconfined=st.booleans(),
    asks=st.booleans(),
    tokens=st.integers(0, 3),
)


def allowed(one: Capabilities) -> set[tuple[str, str]]:
    """All of a few things that a set allows."""
    paths = ("/", "/w", "/w/a/b/c", "/wa", "/home/user/x", "/data/x", "/etc")
    hosts = (
        "*",
        "example.org",
        "example.org:8443",
        "a.github.com",
        "api.github.com",
        "10.1.2.3",
        "10.9.9.9",
        "x.test",
    )
    names = ("A_TOKEN", "A_X", "B", "C", "mcp_x_y", "mcp_x_z", "mcp_z")
    return {
        *(("read", path) for path in paths if one.reads(path)),
        *(("write", path) for path in paths if one.writes(path)),
        *(("host", host) for host in hosts if one.reaches(host)),
        *(("secret", name) for name in names if one.knows(name)),
        *(("tool", name) for name in names if one.uses(name)),
    }


@given(SETS, SETS)
def test_what_two_sets_allow_together_is_what_each_of_them_allows(
    one: Capabilities, other: Capabilities
) -> None:
    met = one.meet(other)
    assert allowed(met) == allowed(one) & allowed(other)
    assert (met.unconfined, met.asks) == (one.unconfined and other.unconfined, one.asks and other.asks)
    assert met.tokens == min([each for each in (one.tokens, other.tokens) if each], default=0)


@given(SETS, SETS, SETS)
def test_the_order_in_which_sets_meet_does_not_matter(
    a: Capabilities, b: Capabilities, c: Capabilities
) -> None:
    assert a.meet(b) == b.meet(a)
    assert a.meet(b).meet(c) == a.meet(b.meet(c))
    assert a.meet(b).meet(a.meet(b)) == a.meet(b)


@given(SETS)
def test_a_set_that_meets_all_stays_as_it_is(one: Capabilities) -> None:
    assert allowed(one.meet(ALL)) == allowed(one)
    assert one.meet(ALL).meet(ALL) == one.meet(ALL)


@pytest.mark.parametrize("path", ["/work/ab", "/", "/wor"])
def test_a_folder_is_no_other_one_whose_name_begins_so(path: str) -> None:
    assert not Capabilities(write=("/work/a",)).writes(path)


POLICY = Policy(
    workspace="/work", home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace", network=True
)


@pytest.mark.parametrize(
    ("bounds", "network"),
    [
        (ALL, True),
        (Capabilities(hosts=("example.org", "*.test")), ("*.test", "example.org")),
        (Capabilities(hosts=()), False),
    ],
)
def test_an_open_network_is_open_within_bounds_alone(
    bounds: Capabilities, network: bool | tuple[str, ...]
) -> None:
    verdict = decide(Command(command="ls", cwd="/work"), replace(POLICY, bounds=bounds))
    assert verdict.access.network == network


@pytest.mark.parametrize("sandbox", ["off", "container"])
def test_without_a_sandbox_of_this_machine_no_command_of_a_bounded_session_runs(
    sandbox: Literal["off", "container"],
) -> None:
    for bounds in (Capabilities(write=("/work",)), Capabilities(hosts=()), Capabilities(unconfined=False)):
        policy = replace(POLICY, sandbox=sandbox, bounds=bounds, yolo=True)
        assert decide(Command(command="ls", cwd="/work"), policy).decision == "deny"
    free = replace(POLICY, sandbox=sandbox, bounds=Capabilities(tools=("terminal",), tokens=5))
    assert decide(Command(command="ls", cwd="/work"), free).decision in {"allow", "contain"}


MANIFESTS = {
    "reads nothing outside": (ToolManifest(effects=()), True),
    "goes through the workspace": (ToolManifest(effects=("files",), workspace=True), True),
    "connects to a host it may": (ToolManifest(effects=("network",), hosts=("a.test",)), True),
    "connects to another": (ToolManifest(effects=("network",), hosts=("a.test", "b.example")), False),
    "connects to nobody knows what": (ToolManifest(effects=("network",)), False),
    "starts a program": (ToolManifest(effects=(), programs=("git",)), False),
    "declares nothing": (ToolManifest(), False),
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_a_tool_is_bounded_by_what_it_declares_unless_it_is_named(kind: str) -> None:
    manifest, is_within = MANIFESTS[kind]
    use = ToolUse(tool="probe", source="x", manifest=manifest)
    bounds = Capabilities(hosts=("*.test",))
    assert decide(use, replace(POLICY, bounds=bounds)).decision == ("allow" if is_within else "deny")
    named = replace(bounds, tools=("probe",))
    assert decide(use, replace(POLICY, bounds=named)).decision == "allow"


def test_a_search_looks_into_nothing_that_may_not_be_read() -> None:
    policy = replace(POLICY, bounds=Capabilities(read=("/work",)))
    assert [is_concealed(path, policy) for path in ("/work/a", "/data/a")] == [False, True]


@pytest.mark.parametrize(
    ("bounds", "closed"),
    [
        (ALL, ()),
        (Capabilities(hosts=()), ("network", "unconfined")),
        (Capabilities(write=("/data/project/notes",)), ("paths", "unconfined")),
        (Capabilities(write=("/data/project", "/srv/x")), ("unconfined",)),
        (Capabilities(unconfined=False), ("unconfined",)),
    ],
)
def test_the_needs_that_no_answer_gives_are_known(bounds: Capabilities, closed: tuple[str, ...]) -> None:
    assert closed_needs(bounds, "/data/project") == closed
