"""Plan mode: while a person wants to see a plan first, nothing may change."""

from typing import Final

from msgspec.structs import replace

from hermes.safety.decide import Verdict
from hermes.safety.undo import may_change
from hermes.types.action import PLAN_MODE, Action, ToolUse

RULE: Final = "plan"
WORDS: Final = f"This could change something, so it did not run. {PLAN_MODE}"
_CHANGES: Final = frozenset({"files", "send", "settings", "other"})


def planned(action: Action, verdict: Verdict) -> Verdict:
    """The verdict, a no for whatever is not known only to read. It comes last, so it is never milder."""
    if verdict.decision == "deny" or not _may_change(action, verdict):
        return verdict
    return replace(verdict, decision="deny", reasons=(WORDS,), rule=RULE, effects=(), covered=None)


def _may_change(action: Action, verdict: Verdict) -> bool:
    if isinstance(action, ToolUse):
        manifest = action.manifest
        return not manifest.workspace and not _CHANGES.isdisjoint(manifest.effects)
    return may_change(action, verdict)
