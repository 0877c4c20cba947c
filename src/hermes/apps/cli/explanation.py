"""Why a command would get the verdict that it gets, in three lines."""

from collections.abc import Iterator

from hermes.lib.visible import visible
from hermes.safety.decide import Policy, Verdict
from hermes.safety.grants import write

_MEANING = {
    "allow": "it runs without a question",
    "contain": "it runs in the sandbox without a question",
    "ask": "it runs only after a yes",
    "deny": "it never runs",
}


def meaning(verdict: Verdict) -> str:
    """A verdict in words."""
    saved = ", once what it could lose was saved" if verdict.by == "checkpoint" else ""
    return f"{verdict.decision}: {_MEANING[verdict.decision]}{saved}"


def explained(verdict: Verdict, policy: Policy) -> tuple[str, str, str]:
    """The verdict, what made it, and what would change it."""
    return (meaning(verdict), f"because {_why(verdict, policy)}", f"otherwise {'; or '.join(_else(verdict))}")


def _why(verdict: Verdict, policy: Policy) -> str:
    read = ", ".join(dict.fromkeys(visible(" ".join(one.argv)) for one in verdict.commands if one.argv))
    words = f" (read as {read})" if read else ""
    if verdict.reasons:
        return "; ".join(verdict.reasons) + words
    inside = "has all it asks for in the sandbox" if verdict.access.confined else "does no harm as it is read"
    return f"it {inside}, mode {policy.sandbox}{words}"


def _else(verdict: Verdict) -> Iterator[str]:
    """What a user can do about it."""
    match verdict.decision, verdict.by:
        case "deny", _ if verdict.rule == "capability":
            yield "other bounds: capabilities in config.yaml"
        case "deny", _:
            yield "nothing: no answer, no setting and no --yolo lets it run"
        case "ask", _:
            yield from _answers(verdict)
        case _, "allowlist" if verdict.covered:
            yield f"hermes approvals revoke '{visible(write(verdict.covered))}', and it asks"
        case _, "yolo":
            yield "without --yolo and with approvals.mode manual it asks"
        case _, "checkpoint":
            yield "checkpoints.max_megabytes below what it could lose, and it asks"
        case "contain", _:
            yield "what it declares beyond the sandbox (--host, --network, --path, --unconfined) asks"
        case _:
            yield "a command that does more than read or change files of the workspace asks"


def _answers(verdict: Verdict) -> Iterator[str]:
    hosts = [host for one in verdict.findings if one.rule == "needs-host" for host in one.hosts]
    if verdict.session:
        yield f"a yes for the session or for good, to {visible(write(verdict.session))}"
    else:
        yield "a yes to this one command, each time"
    if hosts:
        yield f"terminal.network: [{', '.join(hosts)}]"
    if not verdict.access.confined and "unconfined" not in verdict.effects:
        yield "a sandbox around it: terminal.sandbox"
