"""Code that a session wrote itself, where nothing confines it and nobody is there to look at it."""

from typing import Final

from msgspec.structs import replace

from hermes.safety.commands.local_programs import is_plain
from hermes.safety.commands.paths import absolute
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess

_GIT: Final = "; git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null does not"

_CHANGES: Final = frozenset({"change", "outside", "persistence", "opaque"})


def writes(action: Action, verdict: Verdict) -> bool:
    """Whether an action may leave files that are this session's own."""
    match action:
        case FileAccess():
            return action.operation != "read"
        case Command():
            return any(one.effect in _CHANGES for one in verdict.findings)
        case _:
            return False


def unreviewed(action: Action, verdict: Verdict, policy: Policy, *, wrote: bool) -> Verdict:
    """The verdict where nobody answers questions: without a sandbox, what may run code that this session has
    written needs a yes. `wrote` says that earlier actions wrote files.
    """
    free = verdict.decision == "allow" and verdict.by == "rule"
    if not isinstance(action, Command) or not free or policy.sandbox != "off" or _is_open(policy):
        return verdict
    changed = {one.path for one in verdict.findings if one.effect in _CHANGES}
    for one in verdict.commands:
        own = {absolute(path, one.cwd) for path in one.writes}
        if (wrote or changed - own) and not is_plain(one):
            other = _GIT if one.program == "git" else ""
            reason = f"{one.program} may run what this session wrote, with nothing that confines it{other}"
            return replace(verdict, decision="ask", reasons=(reason,), rule="own-code", effects=("opaque",))
    return verdict


def _is_open(policy: Policy) -> bool:
    return policy.yolo or policy.mode == "off"
