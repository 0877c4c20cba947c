"""One server: connected to when it is first needed, and again, after a pause, when it was lost."""

import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import mcp_types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct, field
from pydantic import ValidationError

from hermes.lib.aio import Async, first_of
from hermes.lib.lazy import import_object
from hermes.lib.text import clip
from hermes.mcp.definitions import McpOffer
from hermes.mcp.listing import listed
from hermes.mcp.place import sandbox_hint
from hermes.mcp.settings import McpServer
from hermes.mcp.streams import Streams, Traffic
from hermes.types.error import HermesError, McpError
from hermes.types.ports import Ports

T = TypeVar("T")
PAUSES: Final = (0.0, 0.0, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds that a server is left alone after so many failures in a row; the last one holds for all further."""
STEADY: Final = 60.0
"""Seconds after which a connection that ends counts as one that had worked."""
ANSWERS: Final = 5.0
"""Seconds within which a server that left a call without an answer must answer something else."""
SETTLE: Final = 0.5
"""Seconds that changes of a list are waited for, so that many at once are one."""

Open = Callable[[Traffic], AbstractAsyncContextManager[Streams]]


class ServerRequests(Struct, frozen=True, kw_only=True):
    """What answers a server's own requests, as the library calls it; None refuses them."""

    sampling: Any = None
    elicitation: Any = None
    roots: Any = None


class ConnectionOptions(Struct, frozen=True, kw_only=True):
    """What a connection needs from outside: what opens its streams, what runs a job beside, what is told what
    the server offers, what answers the server's own requests, what hides what nobody should read.
    """

    name: str
    server: McpServer
    ports: Ports
    open: Open
    spawn: Callable[[Async[Any]], object]
    listed: Callable[[McpOffer], None]
    requests: ServerRequests = field(default_factory=ServerRequests)
    redact: Callable[[str], str] = str


class _Run(Struct, eq=False):
    """One time of being connected: `settled` once it is, or cannot be, `over` when nothing of it is left."""

    traffic: Traffic
    settled: anyio.Event = field(default_factory=anyio.Event)
    over: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    client: Client | None = None
    doubtful: bool = False
    why: str = ""

    @property
    def is_up(self) -> bool:
        """Whether calls may be made."""
        return self.client is not None and not self.traffic.lost.is_set()


class McpConnection:
    """The connection to one server, shared by a runtime's sessions. `why` says how the last one ended."""

    def __init__(self, options: ConnectionOptions) -> None:
        self._options = options
        self._run: _Run | None = None
        self._changed = anyio.Event()
        self._failures, self._failed_at = 0, -math.inf
        self._calls, self._used_at = 0, 0.0
        self.why = ""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        if self._run is not None:
            return "connected" if self._run.is_up else "connecting"
        return "failed" if self._failures else "not connected"

    async def client(self) -> Client:
        """The connected client, which may take as long as the server's `connect_timeout`; McpError says why
        there is none.
        """
        return (await self._connected_run())[0]

    async def request(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        """What the server answers to one request; McpError says why there is no answer."""
        client, run = await self._connected_run()
        self._calls += 1
        try:
            return await ask(client)
        except anyio.get_cancelled_exc_class():
            run.doubtful = True
            raise
        except MCPError as error:
            run.doubtful = error.code == mcp_types.REQUEST_TIMEOUT
            if error.code == mcp_types.CONNECTION_CLOSED:
                run.traffic.lost.set()
                await run.over.wait()
            raise self._told(error) from error
        except (ValidationError, RuntimeError) as error:  # the library's words for what is no result
            said = self._options.redact(clip(" ".join(str(error).split()), 500))
            raise McpError(f"The MCP server {self._options.name} gave no proper result: {said}") from error
        finally:
            self._calls -= 1
            self._used_at = self._now()

    def forgive(self) -> None:
        """Try at once when it is needed, whatever has failed before."""
        self._failures = 0

    def close(self) -> None:
        """End it, and the server where that is a program of ours."""
        if self._run is not None:
            self._run.scope.cancel()

    def _now(self) -> float:
        return self._options.ports.monotonic()

    async def _connected_run(self) -> tuple[Client, _Run]:
        if (now := self._run) is not None and now.client is not None and now.is_up and not now.doubtful:
            return now.client, now  # each wait below costs a turn of the loop
        while (run := self._run) is not None and run.settled.is_set() and not run.is_up:
            await run.over.wait()  # it is being taken down
        if run is None:
            self._refuse_early()
            run = self._run = _Run(Traffic(self._options.ports.monotonic))
            self._options.spawn(partial(self._be_connected, run))
        await run.settled.wait()
        if run.doubtful and not self._calls:
            await self._try(run)
            return await self._connected_run()
        if run.client is None:
            why = run.why or "it was closed"
            raise McpError(f"The MCP server {self._options.name} cannot be used: {why.rstrip('.')}.")
        return run.client, run

    async def _try(self, run: _Run) -> None:
        """See whether a server still answers that left a call without an answer; end it where not."""
        run.doubtful, answered = False, False
        try:
            with anyio.move_on_after(ANSWERS):
                if run.client is not None:
                    await run.client.list_tools()
                answered = True
        except MCPError as error:
            answered = error.code != mcp_types.REQUEST_TIMEOUT
        if not answered:
            run.scope.cancel()
            await run.over.wait()

    def _refuse_early(self) -> None:
        """McpError while a server that failed is left alone."""
        left = self._failed_at + PAUSES[min(self._failures, len(PAUSES) - 1)] - self._now()
        if left > 0:
            raise McpError(
                f"The MCP server {self._options.name} cannot be used: {self.why}. A call after"
                f" {math.ceil(left)} s tries it again."
            )

    def _told(self, error: MCPError) -> McpError:
        """What a failed request comes down to."""
        name, said = self._options.name, self._options.redact(clip(str(error), 2_000))
        if error.code == mcp_types.CONNECTION_CLOSED:
            return McpError(
                f"The MCP server {name} went away during the call; what it has done until then stands."
            )
        if error.code == mcp_types.REQUEST_TIMEOUT:
            return McpError(
                f"The MCP server {name} did not answer within {self._options.server.timeout:g} s."
            )
        return McpError(f"The MCP server {name} says: {said}")

    async def _be_connected(self, run: _Run) -> None:
        """Be connected until it is lost, closed or idle."""
        begun, why = self._now(), "it was closed"
        try:
            why = await self._connected(run)
        except Exception as error:  # noqa: BLE001  # whatever comes out of a library that speaks to a stranger
            why = _words(error)
        finally:
            words = self._options.redact(self._last_words(run.traffic, why))
            self._end(run, words, failed=self._now() - begun < STEADY)

    def _last_words(self, traffic: Traffic, why: str) -> str:
        """Why it ended, with what the server said of itself; "" where we have ended it."""
        if not why:
            return ""
        said = traffic.said or traffic.wrote
        hint = sandbox_hint(self._options.name, self._options.server, said)
        more = f" (it said: {clip(said, 600)}) {hint}".rstrip() if said else ""
        return (traffic.refused or f"{why}{more}").replace("NAME", self._options.name)

    def _end(self, run: _Run, why: str, *, failed: bool) -> None:
        run.why = self.why = why
        if why:
            self._failures, self._failed_at = (self._failures + 1 if failed else 1), self._now()
        self._run = None
        run.settled.set()
        run.over.set()

    async def _connected(self, run: _Run) -> str:
        """Connect and stay connected; why that ended, "" where we have ended it."""
        options, limit, over = self._options, self._options.server.connect_timeout, ""
        with run.scope as scope:
            scope.deadline = anyio.current_time() + limit
            async with self._opened(options.open(run.traffic)) as client:
                offer = await listed(client)
                scope.deadline = math.inf
                run.client, self.why, self._used_at = client, "", self._now()
                options.listed(offer)
                run.settled.set()
                over = await self._until_over(client, run.traffic)
        late = scope.cancelled_caught and scope.deadline <= anyio.current_time()
        return f"it did not answer within {limit:g} s" if late else over

    def _opened(self, streams: AbstractAsyncContextManager[Streams]) -> Client:
        requests = self._options.requests
        return Client(
            streams,
            mode="auto",
            cache=None,
            read_timeout_seconds=self._options.server.timeout,
            client_info=mcp_types.Implementation(name="hermes", version=import_object("hermes:__version__")),
            sampling_callback=requests.sampling,
            elicitation_callback=requests.elicitation,
            list_roots_callback=requests.roots,
            message_handler=self._hear,
        )

    async def _hear(self, message: object) -> None:
        """Take note of what a server tells unasked."""
        if isinstance(
            message, mcp_types.ToolListChangedNotification | mcp_types.PromptListChangedNotification
        ):
            self._changed.set()

    async def _until_over(self, client: Client, traffic: Traffic) -> str:
        """Follow the changes of what it offers until it is lost or idle; which of them."""
        async with anyio.create_task_group() as tasks:
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                tasks.start_soon(self._listen, client)
            tasks.start_soon(self._follow, client)
            await first_of(traffic.lost.wait, self._idle)
            tasks.cancel_scope.cancel()
        return "it ended by itself" if traffic.lost.is_set() else ""

    async def _idle(self) -> None:
        """Return once nobody has called for as long as the settings say."""
        limit = self._options.server.idle_timeout_seconds
        while not limit or self._calls or self._now() < self._used_at + limit:
            await self._options.ports.sleep(1.0 if limit else 3600.0)

    async def _listen(self, client: Client) -> None:
        """Hear of changes where they come on a stream of their own."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed.set()
        except Exception:  # noqa: BLE001, S110  # a server that has no such stream tells of no changes
            pass

    async def _follow(self, client: Client) -> None:
        """Ask anew what is offered whenever that has changed."""
        while True:
            await self._changed.wait()
            await self._options.ports.sleep(SETTLE)
            self._changed = anyio.Event()
            with anyio.move_on_after(self._options.server.connect_timeout):
                self._options.listed(await listed(client))


def _words(error: BaseException) -> str:
    """What the innermost fault says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, HermesError | MCPError):
        return said or "it gave no reason"
    return f"{type(error).__name__}: {said}" if said else f"the connection broke off ({type(error).__name__})"
