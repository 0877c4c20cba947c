"""The MCP servers of a runtime: a source of tools, as they were accepted; connected to when they are needed.

Nothing of the library is imported before the first connection.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from msgspec import Struct, field

from hermes.lib.aio import Async, HomeLoop, collect
from hermes.lib.lazy import import_object
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.definitions import (
    Accepted,
    AcceptedOffers,
    McpOffer,
    McpTool,
    changes,
    held_back,
    identity,
    looked_at,
)
from hermes.mcp.entries import entries
from hermes.mcp.names import SERVER_NAME, toolset
from hermes.mcp.settings import McpServer
from hermes.tools.registry import tool_error
from hermes.types.error import ConfigError, McpError
from hermes.types.ports import Ports
from hermes.types.tool import Handler, ToolContext, ToolEntry

if TYPE_CHECKING:
    from hermes.mcp.calls import McpCalls
    from hermes.mcp.prompts import McpPrompt

logger = logging.getLogger(__name__)

WARM_SECONDS, RELOAD_SECONDS = 1.5, 10.0
FIRST_SECONDS: Final = 2.0
"""How long the first session waits for servers that nothing is known of yet."""


class McpHome(Struct, frozen=True, kw_only=True):
    """Where the servers of a home keep things, and what they get from the runtime."""

    folder: Path
    results: Path
    hermes_home: Path
    config_file: Path
    user_home: Path
    environ: Mapping[str, str]
    ports: Ports
    known: SecretValues
    redact: Callable[[str], str]
    spawn: Callable[[Async[Any]], object]
    configured: Callable[[], Mapping[str, McpServer]]


class _KnownServer(Struct, kw_only=True):
    """One configured server: what is known of it, and its connection once there is one."""

    name: str
    server: McpServer
    accepted: Accepted | None = None
    calls: "McpCalls | None" = None
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    prompts: "tuple[McpPrompt, ...]" = ()
    first: anyio.Event = field(default_factory=anyio.Event)


class McpServers:
    """The servers of one runtime: implements `ToolSource`. `faults` says of some names why they are none."""

    def __init__(self, home: McpHome) -> None:
        self._home_loop = HomeLoop()
        self._home, self._offers = home, AcceptedOffers(home.folder)
        self.generation = 0
        self.faults: dict[str, str] = {}
        self._servers: dict[str, _KnownServer] = {}
        self._waited = False
        self._notes: list[str] = []
        self._shown: dict[str, McpOffer] = {}
        self._stamp = self._stamped()
        self.told: Callable[[str], object] = lambda _words: None
        for name, server in sorted(home.configured().items()):
            self._add(name, server)

    def enter(self) -> None:
        """Take the running loop for the connections."""
        self._home_loop.enter()

    def entries(self) -> dict[str, ToolEntry]:
        """The accepted tools of all servers by name, sorted."""
        found = {name: one for each in self._servers.values() for name, one in each.tools.items()}
        return dict(sorted(found.items()))

    @property
    def home(self) -> McpHome:
        """Where they keep things."""
        return self._home

    @property
    def names(self) -> list[str]:
        """The servers that are in use, sorted."""
        return list(self._servers)

    @property
    def toolsets(self) -> tuple[str, ...]:
        """Their toolsets, those that have tools."""
        return tuple(toolset(name) for name, one in self._servers.items() if one.tools)

    def configured(self, name: str) -> McpServer:
        """How a server is configured."""
        return self._found(name).server

    def instructions(self, name: str) -> str:
        """What models may be told of a server in its own words: what was accepted, where it is not hidden."""
        one = self._found(name)
        offer = one.accepted.offer if one.accepted else McpOffer()
        return offer.instructions if one.server.instructions and not offer.hides else ""

    def prompts(self, name: str) -> "tuple[McpPrompt, ...]":
        """The prompts of a server as far as it was asked for them, which happens when it is connected to."""
        return self._found(name).prompts

    def accepted(self, name: str) -> Accepted | None:
        """What is known of a server."""
        return self._found(name).accepted

    def state(self, name: str) -> str:
        """How the connection to a server stands."""
        calls = self._found(name).calls
        return calls.connection.state if calls else "not connected"

    def why(self, name: str) -> str:
        """Why the last connection to a server ended; "" where it did not."""
        calls = self._found(name).calls
        return calls.connection.why if calls else ""

    async def ready(self) -> None:
        """Take settings that have changed, and wait a little, once, for servers that nothing is known of."""
        if (stamp := self._stamped()) != self._stamp:
            self._stamp = stamp
            with suppress(ConfigError):  # who opens a session is told of it elsewhere
                self._configure(self._home.configured())
        self._notes += [
            one.accepted.unreached for one in self._servers.values() if one.accepted and not self._waited
        ]
        unknown = [one for one in self._servers.values() if one.accepted is None]
        if self._waited or not unknown:
            return
        self._waited = True
        for one in unknown:
            self._home.spawn(partial(self._try, one))
        with anyio.move_on_after(FIRST_SECONDS):
            for one in unknown:
                await one.first.wait()

    def take_notes(self) -> list[str]:
        """What a person should know of servers that could not be asked, once."""
        notes, self._notes = [*dict.fromkeys(filter(None, self._notes))], []
        return notes

    def warm(self, toolsets: Collection[str]) -> None:
        """Connect to the servers of these toolsets a moment later, behind what the user does; what fails is
        told when it is needed.
        """
        for name, one in self._servers.items():
            if toolset(name) in toolsets or (one.accepted and one.accepted.unreached):
                self._home.spawn(partial(self._warm, one))

    async def _warm(self, one: _KnownServer) -> None:
        await self._home.ports.sleep(WARM_SECONDS)
        await self._try(one)

    async def connect(self, name: str) -> McpOffer:
        """Connect to a server, now, and give what it offers; McpError says why not."""
        one = self._found(name)
        calls = await self._calls(one)
        calls.connection.forgive()
        await calls.connection.client()
        if one.accepted is None:
            raise McpError(f"The MCP server {name} has told nothing of itself.")
        return one.accepted.pending or one.accepted.offer

    async def calls(self, name: str) -> "McpCalls":
        """What calls a server; McpError where there is none of that name."""
        return await self._calls(self._found(name))

    def shown(self, name: str) -> list[str]:
        """What a server offers otherwise than it may, as lines to show; `accept` takes just that."""
        known = self._found(name).accepted or Accepted(server="", offer=McpOffer())
        offer = known.pending or known.offer
        self._shown[name] = offer
        return [*changes(known.offer, offer), *held_back(offer)]

    def accept(self, name: str) -> None:
        """Take what a server offers, and was shown, for what it may offer; sessions that begin from now on
        have it. McpError where it was not shown as it is now.
        """
        one = self._found(name)
        if one.accepted is None:
            return
        offer = one.accepted.pending or one.accepted.offer
        if self._shown.get(name) != offer:
            raise McpError(f"What {name} offers now was not shown yet; /reload-mcp shows it first.")
        self._keep(
            one,
            Accepted(server=identity(one.server), offer=offer.looked_through, at=self._home.ports.now()),
        )

    async def reload(self) -> list[str]:
        """Read the settings anew and ask each server what it offers; a sentence or a difference for each."""
        self._configure(self._home.configured())
        told: list[str] = [f"{name}: {why}" for name, why in sorted(self.faults.items())]
        return [*told, *await collect([partial(self._told_of, name) for name in self.names], limit=8)]

    async def _told_of(self, name: str) -> str:
        """What a server says when it is asked anew, within a few seconds."""
        offer = None
        try:
            with anyio.move_on_after(RELOAD_SECONDS):
                offer = await self.connect(name)
        except (McpError, ImportError) as error:
            return self._home.redact(str(error))
        known = self._servers[name].accepted if name in self._servers else None
        if offer is None or known is None:
            return f"{name}: it has not answered yet"
        if known.pending is None:
            return f"{name}: {len(offer.tools)} tools, as they were accepted"
        lines = "\n".join(self.shown(name))
        return f"{name} offers something else; `/reload-mcp {name}` accepts it:\n\n```diff\n{lines}\n```"

    def _configure(self, servers: Mapping[str, McpServer]) -> None:
        """Use these servers from now on; those that are as before keep their connections."""
        enabled = {name: one for name, one in servers.items() if one.enabled}
        for name in sorted({*self._servers, *enabled}):
            known = self._servers.get(name)
            if known is not None and enabled.get(name) == known.server:
                continue
            self._remove(name)
            if name in enabled:
                self._add(name, enabled[name])
        self._waited, self.generation = False, self.generation + 1

    def close(self) -> None:
        """End all connections."""
        for name in self.names:
            self._close(self._servers[name])

    def _stamped(self) -> object:
        """What changes with the settings."""
        try:
            found = self._home.config_file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _found(self, name: str) -> _KnownServer:
        if name not in self._servers:
            raise McpError(
                f"There is no MCP server {name[:80]!r}; hermes mcp list shows those that are there."
            )
        return self._servers[name]

    def _add(self, name: str, server: McpServer) -> None:
        if not server.enabled:
            return
        if not SERVER_NAME.fullmatch(name):
            self.faults[name] = "a name is letters, digits, _ and -, 40 at most"
            return
        self._home.known.learn(*server.secrets)
        one = self._servers[name] = _KnownServer(
            name=name, server=server, accepted=self._offers.load(name, server)
        )
        self._servers = dict(sorted(self._servers.items()))
        self._offer(one)

    def _remove(self, name: str) -> None:
        self.faults.pop(name, None)
        if (one := self._servers.pop(name, None)) is not None:
            self._close(one)

    def _close(self, one: _KnownServer) -> None:
        if one.calls:
            one.calls.connection.close()

    async def _try(self, one: _KnownServer) -> None:
        """Connect to a server; its fault is its own."""
        try:
            await (await self._calls(one)).connection.client()
        except (McpError, ImportError) as error:
            if one.accepted is None or one.accepted.unreached:
                why = self._home.redact(str(error))
                self._notes.append(why)
                accepted = Accepted(server=identity(one.server), offer=McpOffer(), unreached=why)
                self._keep(one, accepted)
        one.first.set()

    def _listed(self, one: _KnownServer, offer: McpOffer) -> None:
        """A server tells what it offers: the first time that is what it may; later a change is only noted."""
        known = one.accepted
        offer = looked_at(offer, known.offer) if known else offer
        if known is None or known.unreached:
            self._keep(one, Accepted(server=identity(one.server), offer=offer, at=self._home.ports.now()))
        elif (pending := None if offer == known.offer else offer) != known.pending:
            self._keep(one, Accepted(server=known.server, offer=known.offer, pending=pending, at=known.at))
            if pending is not None:
                self.told(
                    f"The MCP server {one.name} offers something else than before;"
                    f" hermes mcp review {one.name} shows the difference."
                )
        one.first.set()
        if offer.prompts and one.server.tools.prompts:
            self._home.spawn(partial(self._learn_prompts, one))

    async def _learn_prompts(self, one: _KnownServer) -> None:
        """Know the prompts of a server; one that does not tell has none."""
        with suppress(McpError):
            one.prompts = await (await self._calls(one)).prompts()

    def _keep(self, one: _KnownServer, accepted: Accepted) -> None:
        one.accepted = accepted
        try:
            self._offers.save(one.name, accepted)
        except OSError as error:
            logger.warning("What the MCP server %s offers could not be kept: %s", one.name, error)
        self._offer(one)

    def _offer(self, one: _KnownServer) -> None:
        """Have the tools of a server be what was accepted."""
        offer = one.accepted.offer if one.accepted else McpOffer()
        one.tools = entries(one.name, one.server, offer, partial(self._handler, one))
        self.generation += 1

    def _handler(self, one: _KnownServer, tool: McpTool, method: str) -> Handler:
        async def handler(args: Mapping[str, Any], **keywords: Any) -> str:
            return await self._home_loop.run(partial(self._run, one, tool, method, args, keywords.get("ctx")))

        return handler

    async def _run(
        self, one: _KnownServer, tool: McpTool, method: str, args: Mapping[str, Any], ctx: ToolContext | None
    ) -> str:
        now = self._servers.get(one.name)
        if now is None or (now is not one and identity(now.server) != identity(one.server)):
            return tool_error(
                f"The MCP server {one.name} was taken away, or is another program or address, since this"
                " session began."
            )
        try:
            calls = await self._calls(now)
            await calls.connection.client()
            if why := _differs(now, tool, method):
                return tool_error(why)
            run: Callable[..., Any] = getattr(calls, method)
            return str(await run(tool.name, args, ctx))
        except (McpError, ImportError) as error:
            return tool_error(self._home.redact(str(error)))

    async def _calls(self, one: _KnownServer) -> "McpCalls":
        """What calls a server; the library is imported in a thread, for that takes most of a second."""
        if one.calls is None:
            make = await anyio.to_thread.run_sync(
                partial(import_object, "hermes.mcp.assembly:calls_for", extra="mcp")
            )
            made: McpCalls = make(one.name, one.server, self._home, partial(self._listed, one))
            one.calls = _first(one, made)
        return one.calls


def _first(one: _KnownServer, made: "McpCalls") -> "McpCalls":
    """What another call has made meanwhile, or else this."""
    return one.calls or made


def _differs(one: _KnownServer, tool: McpTool, method: str) -> str:
    """Why a tool is not called whose definition is not what the session has, or not what was accepted."""
    known = one.accepted or Accepted(server="", offer=McpOffer())
    if method != "call_tool" or (known.pending or known.offer).by_name.get(tool.name) == tool:
        return ""
    if known.pending is None:
        return f"{tool.name} was not called: another definition of it was accepted since this session began."
    what = "describes it otherwise" if tool.name in known.pending.by_name else "has it no longer"
    return (
        f"{tool.name} was not called: the MCP server {one.name} {what} than when it was accepted. The user"
        f" sees the difference, and accepts it, with hermes mcp review {one.name}."
    )
