"""The commands on MCP servers: those that there are, one of them whole, and what they offer, asked anew."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import anyio

from hermes.commands.context import CommandContext, opened
from hermes.commands.others_words import code_lines, code_words, plain_words
from hermes.mcp.definitions import Accepted, McpOffer
from hermes.mcp.words import counted, held_back, reach, where
from hermes.types.error import McpError

if TYPE_CHECKING:
    from hermes.mcp.prompts import McpPrompt
    from hermes.mcp.servers import McpServers

SECONDS: Final = 10.0
"""How long a person waits for a server that is looked at."""
_NONE: Final = "There is no MCP server; `hermes mcp add` adds one."


async def mcp(talk: CommandContext, argument: str) -> None:
    """The servers with how they stand, or all there is to know of one."""
    servers = talk.runtime.mcp
    if not argument:
        rows = [f"- **{plain_words(name)}**: {_standing(servers, name)}" for name in servers.names]
        rows += [f"- **{plain_words(name)}**: faulty: {why}" for name, why in sorted(servers.faults.items())]
        rows += [
            f"- **{plain_words(name)}**: off; `hermes mcp allow {name} --enable` has it used"
            for name, one in sorted(servers.home.configured().items())
            if not one.enabled
        ]
        talk.tell("\n".join(rows) or _NONE)
        return
    asked = await _asked(servers, argument)
    talk.tell("\n".join([*_facts(servers, argument), *asked]))


async def reload_mcp(talk: CommandContext, argument: str) -> None:
    """Read the settings of servers anew and ask each what it offers, or accept what one offers now."""
    servers = opened(talk).services.servers
    if argument:
        servers.accept(argument)
        talk.notice(f"What {argument} offers now is accepted; /new begins a session that has it.")
        return
    talk.notice("Asking the MCP servers what they offer …")
    talk.tell("\n\n".join(await servers.reload()) or _NONE)


def _standing(servers: "McpServers", name: str) -> str:
    """How a server stands, and what it offers, in one line."""
    known = servers.accepted(name)
    told = [counted(known.offer), held_back(known)] if known and not known.unreached else []
    offers = "".join(f" · {one}" for one in told if one)
    news = " · offers something else: `/reload-mcp` shows it" if known and known.pending else ""
    return f"{_state(servers, name, known)}{offers}{news}"


def _state(servers: "McpServers", name: str, known: Accepted | None) -> str:
    state, why = servers.state(name), servers.why(name) or (known.unreached if known else "")
    if state in {"connected", "connecting"}:
        return state
    return f"faulty: {plain_words(why)}" if why else "waiting until one of its tools is called"


def _facts(servers: "McpServers", name: str) -> Iterator[str]:
    """What is known of a server without asking it."""
    server, known = servers.configured(name), servers.accepted(name)
    yield f"**{name}**: {_standing(servers, name)}"
    yield ""
    yield f"- where: {code_words(servers.home.redact(where(server)))}"
    yield f"- network: {reach(server)}, trust: {server.trust}"
    offer = known.offer if known else McpOffer()
    if offer.instructions:
        held = f" (held back: {offer.hides})" if offer.hides else ""
        yield f"- says to models{held}:"
        yield from (f"  {row}" for row in code_lines(offer.instructions))
    for one in offer.tools:
        held = f" (held back: {plain_words(offer.faults[one.name])})" if one.name in offer.faults else ""
        yield f"- tool {code_words(one.name)}: {plain_words(one.description)}{held}"


async def _asked(servers: "McpServers", name: str) -> list[str]:
    """The prompts and resources of a server, which is connected to, or why it does not tell them."""
    rows = ["- it has not answered yet"]
    try:
        with anyio.move_on_after(SECONDS):
            offer = await servers.connect(name)
            calls = await servers.calls(name)
            prompts = await calls.prompts() if offer.prompts else ()
            uris = await calls.uris() if offer.resources else ()
            rows = [*map(_prompt, prompts), *(f"- resource {code_words(uri)}" for uri in uris)]
    except (McpError, ImportError) as error:
        servers.configured(name)  # one that is unknown has no more to be told of
        return [f"- {plain_words(servers.home.redact(str(error)))}"]
    return rows


def _prompt(one: "McpPrompt") -> str:
    held = f" (held back: {one.fault})" if one.fault else ""
    return f"- prompt {code_words(f'{one.name} {one.usage}'.rstrip())}: {plain_words(one.description)}{held}"
