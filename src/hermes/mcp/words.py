"""A server in words for a person: where it is, what it may reach, how what it offers stands."""

from hermes.lib.visible import one_line
from hermes.mcp.definitions import Accepted, McpOffer
from hermes.mcp.settings import McpServer


def where(server: McpServer) -> str:
    """The program with its arguments, or the address."""
    return one_line(" ".join([server.command, *server.args]) if server.is_local else server.url)


def reach(server: McpServer) -> str:
    """What of the network a server may use."""
    if not server.is_local:
        return "address"
    network = server.sandbox.network
    return "all" if network is True or not server.sandbox.enabled else ", ".join(network or ()) or "none"


def state(known: Accepted | None) -> str:
    """How what a server offers stands."""
    if known is None:
        return "not yet connected"
    if known.unreached:
        return "could not be reached"
    changed = "changed: hermes mcp review" if known.pending else ""
    return ", ".join(filter(None, (changed, held_back(known)))) or "accepted"


def held_back(known: Accepted) -> str:
    """How much of what a server offers is held back, such as `1 held back`; "" for nothing."""
    count = len(known.offer.faults) + bool(known.offer.hides)
    return f"{count} held back" if count else ""


def counted(offer: McpOffer) -> str:
    """What there is of an offer, such as `3 tools, prompts`."""
    count = len(offer.tools)
    has = {"resources": offer.resources, "prompts": offer.prompts, "instructions": offer.instructions}
    more = [word for word, there in has.items() if there]
    return ", ".join(["1 tool" if count == 1 else f"{count} tools", *more])
