"""The page of what a session may do, word for word."""

from msgspec.structs import replace

from hermes.present.permissions import permissions
from hermes.safety.decide import Policy
from hermes.types.capabilities import Capabilities

POLICY = Policy(workspace="/work", home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace")


def test_the_usual_session() -> None:
    assert list(permissions(POLICY, attended=True)) == [
        ("writes", "/work and a /tmp of its own"),
        ("reads", "all but credentials"),
        ("network", "none; a command that needs more asks"),
        ("sandbox", "commands leave it after a yes"),
        ("secrets", "each tool those that it names"),
        ("tools", "all that are offered"),
        ("questions", "you answer them"),
    ]


def test_a_bounded_one_that_nobody_attends_to() -> None:
    bounds = Capabilities(
        read=("/work",), write=("/work/notes",), hosts=("*.test",), secrets=(), tools=("terminal",), unconfined=False,
        tokens=5000,
    )  # fmt: skip
    policy = replace(POLICY, bounds=bounds, network=True)
    assert list(permissions(policy, attended=False)) == [
        ("writes", "/work and a /tmp of its own (only in /work/notes)"),
        ("reads", "all but credentials (only in /work)"),
        ("network", "*.test; a command that needs more asks (within *.test)"),
        ("sandbox", "no command leaves it"),
        ("secrets", "each tool those that it names (of none)"),
        ("tools", "only terminal"),
        ("questions", "nobody answers them, so each is a no"),
        ("tokens", "5000 at most"),
    ]


def test_one_without_a_sandbox_and_without_questions() -> None:
    rows = dict(permissions(replace(POLICY, sandbox="off", yolo=True), attended=True))
    assert (rows["writes"], rows["sandbox"], rows["questions"]) == (
        "all that you may: there is no sandbox, and what could do harm asks",
        "none",
        "none: what could do harm runs, but for what is never allowed",
    )
