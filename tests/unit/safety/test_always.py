"""Where the user wants to be asked always, danger in the sandbox asks, and nothing is milder than before."""

import pytest
from msgspec.structs import replace

from hermes.safety.always import asked_always
from hermes.safety.commands.rule_catalog import entries
from hermes.safety.decide import Policy, Verdict, decide
from hermes.safety.grants import Grants
from hermes.safety.renamed import renamed
from hermes.types.action import Command

NEEDED = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace"
)
ALWAYS = replace(NEEDED, ask="always")
STRICTNESS = {"allow": 0, "contain": 0, "ask": 1, "deny": 2}


def judged(command: str, policy: Policy = ALWAYS, grants: Grants | None = None) -> Verdict:
    action, given = Command(command=command, cwd=policy.workspace), grants or Grants()
    return asked_always(action, renamed(decide(action, policy, given), policy), policy, given)


@pytest.mark.parametrize(
    "command", ["sudo make install", "rm -rf ~/old", "crontab jobs", 'eval "$X"', "pkill node"]
)
def test_what_the_sandbox_would_hold_asks(command: str) -> None:
    before, now = judged(command, NEEDED), judged(command)
    assert (before.decision, now.decision, now.access) == ("contain", "ask", before.access)
    assert now.reasons


@pytest.mark.parametrize("command", ["make", "touch a", "rm -rf build", "git commit -m x", "ls ~"])
def test_work_in_the_workspace_stays_free(command: str) -> None:
    assert judged(command) == judged(command, NEEDED)


@pytest.mark.parametrize("sandbox", ["off", "read-only", "workspace", "full", "container"])
def test_nothing_is_milder_than_before(sandbox: str) -> None:
    for changes in ({}, {"mode": "off"}, {"yolo": True}, {"network": True}):
        before = replace(NEEDED, sandbox=sandbox, **changes)
        for command in {command for one in entries() for command in one.match}:
            old, new = judged(command, before), judged(command, replace(before, ask="always"))
            assert STRICTNESS[new.decision] >= STRICTNESS[old.decision], command
            assert new.access == old.access


def test_a_yes_for_the_session_covers_the_same_command_which_runs_contained() -> None:
    asked = judged("pkill node")
    assert asked.session is not None
    grants = Grants(session=(asked.session,))
    covered = judged("pkill node", grants=grants)
    assert (covered.decision, covered.by, covered.covered) == ("contain", "sandbox", asked.session)
    assert judged("pkill python", grants=grants).decision == "ask"
