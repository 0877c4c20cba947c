"""What a session may do, on one page."""

from collections.abc import Iterator, Sequence

from hermes.safety.bounds import network_within
from hermes.safety.decide import Policy
from hermes.types.capabilities import ALL

_WRITING = {
    "off": "all that you may: there is no sandbox, and what could do harm asks",
    "read-only": "nothing; each change asks",
    "full": "all that you may, but credentials, start files and settings of repositories",
    "container": "its own machine, which is thrown away",
}


def permissions(policy: Policy, *, attended: bool) -> Iterator[tuple[str, str]]:
    """Rows of a name and a sentence about a policy; `attended` says that somebody answers questions."""
    bounds = policy.bounds
    yield "writes", _writes(policy)
    yield "reads", f"all but credentials{_among(bounds.read, ALL.read, 'only in')}"
    yield "network", _network(policy)
    yield "sandbox", _leaving(policy)
    yield "secrets", f"each tool those that it names{_among(bounds.secrets, ALL.secrets, 'of')}"
    yield (
        "tools",
        "all that are offered" if bounds.tools == ALL.tools else f"only {', '.join(bounds.tools) or 'none'}",
    )
    yield "questions", _asking(policy, attended=attended)
    if bounds.tokens:
        yield "tokens", f"{bounds.tokens} at most"


def _writes(policy: Policy) -> str:
    found = _WRITING.get(policy.sandbox, f"{policy.workspace} and a /tmp of its own")
    return f"{found}{_among(policy.bounds.write, ALL.write, 'only in')}"


def _network(policy: Policy) -> str:
    if policy.sandbox in {"off", "container"}:
        return "as that machine has it; sending and publishing ask" if policy.network else "none"
    network = network_within(policy.network, policy.bounds)
    given = "all" if network is True else ", ".join(network) if network else "none"
    more = _among(policy.bounds.hosts, ALL.hosts, "within")
    return f"{given}; a command that needs more asks{more}"


def _leaving(policy: Policy) -> str:
    if policy.sandbox == "off":
        return "none"
    return "commands leave it after a yes" if policy.bounds.unconfined else "no command leaves it"


def _asking(policy: Policy, *, attended: bool) -> str:
    if policy.yolo or policy.mode == "off":
        return "none: what could do harm runs, but for what is never allowed"
    if not attended:
        return "nobody answers them, so each is a no"
    return (
        "a model answers what does little harm, you the rest" if policy.mode == "smart" else "you answer them"
    )


def _among(found: Sequence[str], all_: Sequence[str], word: str) -> str:
    return "" if found == all_ else f" ({word} {', '.join(found) or 'none'})"
