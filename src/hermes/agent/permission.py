"""From an action to a permit: `safety.decide` decides, a person is asked where it says so, a grant is kept as wide as it was given."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from hermes.safety.decide import Grants, Policy, Verdict, decide
from hermes.types.action import Action, Command, Permit
from hermes.types.error import Refused
from hermes.types.question import Answer, Approve, Deny, Grant, Question


@dataclass(slots=True)
class Gate:
    """The one door to effects of a session. `save` writes an 'always' to the user's allowlist."""

    policy: Policy
    ask: Callable[[Question], Awaitable[Answer]]
    save: Callable[[str], None]
    grants: Grants = field(default_factory=Grants)
    refused: list[str] = field(default_factory=list)

    async def authorize(self, action: Action) -> Permit:
        """The permit for this one action; Refused, with words for the model, when the answer is no."""
        verdict = decide(action, self.policy, self.grants)
        match verdict.decision:
            case "allow" | "contain":
                return verdict.permit()
            case "deny":
                raise self._refusal(action, f"This is never allowed: {_listed(verdict)}.")
            case "ask":
                return await self._asked(action, verdict)

    async def _asked(self, action: Action, verdict: Verdict) -> Permit:
        answer = await self.ask(_question(action, verdict))
        if not isinstance(answer, Grant):
            said = answer.reason if isinstance(answer, Deny) else answer.text
            why = f" They said: {said}" if said else ""
            raise self._refusal(
                action, f"The user did not allow this ({_listed(verdict)}).{why} Do not try it in another form; do without it or ask."
            )
        if answer.scope == "session" and verdict.session_pattern:
            self.grants = Grants(session=self.grants.session | {verdict.session_pattern})
        if answer.scope == "always" and verdict.always_pattern:
            self.policy = replace(self.policy, allowlist=(*self.policy.allowlist, verdict.always_pattern))
            self.save(verdict.always_pattern)
        return verdict.permit("person")

    def take_refused(self) -> list[str]:
        """What was refused since the last time, as it was shown."""
        taken, self.refused = self.refused, []
        return taken

    def _refusal(self, action: Action, message: str) -> Refused:
        self.refused.append(_shown(action))
        return Refused(message)


def _question(action: Action, verdict: Verdict) -> Approve:
    return Approve(
        command=_shown(action),
        cwd=action.cwd if isinstance(action, Command) else "",
        reasons=verdict.reasons,
        rule=verdict.rule,
        session_pattern=verdict.session_pattern,
        always_pattern=verdict.always_pattern,
    )


def _shown(action: Action) -> str:
    return action.command if isinstance(action, Command) else f"{action.operation} {action.path}"


def _listed(verdict: Verdict) -> str:
    return "; ".join(verdict.reasons) or verdict.rule
