"""Questions about all that is dangerous, for users who want them also of what the sandbox would hold."""

from msgspec.structs import replace

from hermes.safety.commands.findings import Reading
from hermes.safety.commands.rules import table
from hermes.safety.decide import Policy, Verdict
from hermes.safety.grants import Grants, covering, offered, parse
from hermes.types.action import Action, Command


def asked_always(action: Action, verdict: Verdict, policy: Policy, grants: Grants) -> Verdict:
    """The verdict, to ask where a command that would only be contained does what asks without a sandbox, and
    no earlier yes covers that. It comes last and changes nothing but that, so it is never milder than before.
    """
    free = policy.yolo or policy.mode == "off"
    if policy.ask != "always" or free or verdict.decision != "contain" or not isinstance(action, Command):
        return verdict
    found = tuple(one for one in verdict.findings if "off" not in table().effects[one.effect].free)
    if not found:
        return verdict
    reading = Reading(verdict.commands, found)
    for scopes in (grants.session, map(parse, policy.allowlist)):
        if scope := covering(scopes, action, reading, grants.now):
            return replace(verdict, covered=scope)
    session, always = offered(action, reading, policy.folders, policy.scope)
    return replace(
        verdict,
        decision="ask",
        reasons=tuple(dict.fromkeys(one.reason for one in found)),
        rule=found[0].rule,
        effects=tuple(dict.fromkeys(one.effect for one in found)),
        session=session,
        always=always,
        by="rule",
    )
