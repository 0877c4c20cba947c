"""A deletion that is free by its name asks where that name may mean something else of the workspace."""

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, decide
from hermes.safety.renamed import renamed
from hermes.types.action import Command

POLICY = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace"
)


def decision(command: str, policy: Policy = POLICY) -> str:
    return renamed(decide(Command(command=command, cwd=policy.workspace), policy), policy).decision


@pytest.mark.parametrize(
    "command",
    [
        "mv src /tmp/; rm -rf /tmp/src",
        "mv src node_modules && rm -rf node_modules",
        "ln -sfn src build; rm -rf build/*",
        "mv src build; find build -delete",
        "rm -rf link/../../build",
        "rm -rf a/.ssh",
    ],
)
def test_what_may_be_another_tree_asks(command: str) -> None:
    assert decision(command) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf build && make",
        "mv a.txt b.txt && rm b.txt",
        "cd src && rm -rf ../build",
        "rm -rf /tmp/x",
        "ls; rm -rf ~/.ssh",
    ],
)
def test_build_output_and_temporary_files_stay_free(command: str) -> None:
    assert decision(command) == "contain"


def test_a_link_that_leads_to_another_tree_asks() -> None:
    def locate(path: str) -> list[str]:
        assert "\0" not in path
        return [path.replace("/project/build", "/project/src")]

    for command, said in (
        ("rm -rf build/*", "ask"),
        ('rm -rf /tmp/"$X"', "contain"),
        ("rm -rf dist/*", "contain"),
        ("rm -rf build", "ask"),
    ):
        verdict = decide(Command(command=command, cwd=POLICY.workspace), POLICY)
        assert renamed(verdict, POLICY, locate).decision == said


@pytest.mark.parametrize("policy", [replace(POLICY, yolo=True), replace(POLICY, mode="off")])
def test_where_nothing_asks_it_does_not_either(policy: Policy) -> None:
    assert decision("mv src build; rm -rf build", policy) != "ask"
