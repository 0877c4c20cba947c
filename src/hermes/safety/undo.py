"""What has to be saved so that a command can be undone, and whether saving is enough."""

import posixpath
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.paths import is_within
from hermes.safety.commands.rules import Finding
from hermes.safety.decide import Policy, Verdict

_LOSES: Final = frozenset({"delete", "history"})
_KEPT_INSIDE: Final = frozenset({"read-only", "workspace"})
_PATTERN: Final = frozenset("*?[")


def to_save(verdict: Verdict, policy: Policy) -> tuple[str, ...]:
    """The absolute paths to save before a command runs that asks only because it loses something; nothing
    where saving them is no answer to the question.

    The sandbox keeps the command to the workspace, so that nothing else can be lost.
    """
    asks = verdict.decision == "ask" and verdict.by == "rule" and not verdict.outside
    confined = verdict.access.confined and policy.sandbox in _KEPT_INSIDE
    if not (asks and confined and _LOSES.issuperset(verdict.effects)):
        return ()
    found = [one for one in verdict.findings if one.effect in verdict.effects]
    return _outermost(sorted({_lost(one, policy.workspace) for one in found}))


def _lost(finding: Finding, workspace: str) -> str:
    """The folder or file that a finding may lose; all of the workspace where that is not known, or where it
    is history, which is in git's folder and in the files.
    """
    parts = finding.path.split("/")
    known = [part for part in parts if _PATTERN.isdisjoint(part) and UNKNOWN not in part]
    whole = len(known) == len(parts)
    path = posixpath.normpath("/".join(parts if whole else parts[: _first_unknown(parts)]) or "/")
    inside = is_within(path, workspace) and finding.effect == "delete"
    return path if inside else workspace


def _first_unknown(parts: list[str]) -> int:
    return next(at for at, part in enumerate(parts) if not _PATTERN.isdisjoint(part) or UNKNOWN in part)


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """The paths that lie in no other one."""

    def above(path: str) -> Iterator[str]:
        return (one for one in paths if one != path and is_within(path, one))

    return tuple(path for path in paths if not any(above(path)))
