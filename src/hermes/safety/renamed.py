"""Deletions by a name that may mean other files of the workspace by the time they run."""

import re
from typing import Final

from msgspec.structs import replace

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.file_findings import emptied
from hermes.safety.commands.options import has_option
from hermes.safety.commands.paths import absolute, is_within
from hermes.safety.commands.rules import Finding, file_uses
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.safety.origins import Locate, as_named

_REASON: Final = (
    "it deletes by names that may mean other files of the workspace, and it cannot be brought back"
)
_GOES_UP: Final = re.compile(r"[^/.][^/]*/(?:[^/]+/)*\.\.(?:/|$)")


def renamed(verdict: Verdict, policy: Policy, locate: Locate = as_named) -> Verdict:
    """The verdict, to ask where a command in the sandbox would run without a question because what it deletes
    is build output, temporary or outside by its name, and something of the workspace may have that name then.
    `locate` gives where a path really lies.
    """
    free = verdict.decision == "contain" and not policy.yolo and policy.mode != "off"
    kept = policy.sandbox in {"read-only", "workspace"} and verdict.access.writable
    if not (free and kept and _may_mean_another(verdict, policy, locate)):
        return verdict
    finding = Finding("delete", "delete", _REASON, policy.workspace)
    return replace(
        verdict,
        decision="ask",
        by="rule",
        reasons=(_REASON,),
        rule=finding.rule,
        effects=(finding.effect,),
        findings=(*verdict.findings, finding),
    )


def _may_mean_another(verdict: Verdict, policy: Policy, locate: Locate) -> bool:
    inside = (
        is_within(one.path, policy.workspace) for one in verdict.findings if one.rule == "delete-outside"
    )
    removed = [(path, one.cwd) for one in verdict.commands for path in _trees(one)]
    return (
        any(inside)
        or (bool(removed) and _renames(verdict))
        or any(_GOES_UP.match(path) or _leads_inside(path, cwd, policy, locate) for path, cwd in removed)
    )


def _leads_inside(path: str, cwd: str, policy: Policy, locate: Locate) -> bool:
    """Whether a link on the way, or at the end, leads to another place of the workspace."""
    full = absolute(path, cwd).partition(UNKNOWN)[0]
    known = full.partition("*")[0].rpartition("/")[0] if "*" in full else full
    return any(real != known and is_within(real, policy.workspace) for real in locate(known or "/"))


def _trees(command: Simple) -> list[str]:
    """The folders, and patterns, that a command removes with all that is there."""
    whole = has_option(command.argv[1:], "-r", "-R", "--recursive")
    named = [path for does, path in file_uses(command) if does == "delete" and (whole or "*" in path)]
    return [*named, *emptied(command)]


def _renames(verdict: Verdict) -> bool:
    """Whether a line gives something another name."""
    return any(
        one.program == "ln" or any(does == "move" for does, _ in file_uses(one)) for one in verdict.commands
    )
