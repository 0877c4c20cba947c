"""What one server's calls are made from; imported with the library, at the first connection."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from hermes.mcp.calls import McpCalls
from hermes.mcp.connection import ConnectionOptions, McpConnection
from hermes.mcp.definitions import McpOffer
from hermes.mcp.http import http_streams
from hermes.mcp.identity import vouched_for
from hermes.mcp.lacks import sign_in_lacks
from hermes.mcp.oauth import SignedIn, TokenFile, own_rights
from hermes.mcp.place import ServerPlace
from hermes.mcp.requests import CallRequests
from hermes.mcp.settings import McpServer
from hermes.mcp.stdio import stdio_streams
from hermes.mcp.streams import Streams, Traffic
from hermes.types.error import ExecError, McpError

if TYPE_CHECKING:
    from hermes.mcp.servers import McpHome

logging.getLogger("mcp").addHandler(
    logging.NullHandler()
)  # its words are for logs, not for the user's screen


def calls_for(name: str, server: McpServer, home: "McpHome", listed: Callable[[McpOffer], None]) -> McpCalls:
    """What calls one server; `listed` is told what it offers."""
    requests = CallRequests(name, server, home.ports.monotonic)
    options = ConnectionOptions(
        name=name,
        server=server,
        ports=home.ports,
        open=lambda traffic: streams_to(name, server, home, traffic),
        spawn=home.spawn,
        listed=listed,
        requests=requests.handlers(),
        redact=home.redact,
    )
    return McpCalls(
        name=name,
        server=server,
        connection=McpConnection(options),
        requests=requests,
        results=lambda: home.results,
    )


def streams_to(
    name: str, server: McpServer, home: "McpHome", traffic: Traffic
) -> AbstractAsyncContextManager[Streams]:
    """The streams to a server, by whichever way it is reached."""
    if not server.is_local:
        return http_streams(server, home.environ, sign_in(name, server, home), traffic)
    return _local(name, server, home, traffic)


def sign_in(name: str, server: McpServer, home: "McpHome") -> httpx2.Auth | None:
    """What authenticates requests to a server that wants a sign-in; none where its headers say who we are."""
    if server.auth != "oauth" and not token_file(name, home).load().tokens:
        return None
    if lacks := sign_in_lacks(server.oauth):
        raise McpError(lacks)
    if server.oauth.grant in ("client_credentials", "workload_identity"):
        return own_rights(server.url, server.oauth, token_file(name, home))
    if server.oauth.grant == "identity_assertion":
        file = token_file(name, home)
        return vouched_for(server.url, server.oauth, file, home.environ, home.ports.monotonic)
    redirect = server.oauth.redirect_uri or f"http://{server.oauth.redirect_host}/callback"
    return SignedIn(server.url, server.oauth, token_file(name, home), redirect)


def token_file(name: str, home: "McpHome") -> TokenFile:
    """Where the sign-in to a server is kept."""
    return TokenFile(home.folder / f"{name}.tokens", home.ports.now)


@asynccontextmanager
async def _local(name: str, server: McpServer, home: "McpHome", traffic: Traffic) -> AsyncIterator[Streams]:
    place = ServerPlace(
        user_home=home.user_home,
        hermes_home=home.hermes_home,
        own=home.folder,
        environ=home.environ,
        known=home.known,
    )
    try:
        environment, job = place.open(name, server), place.job(name, server)
    except ExecError as error:
        raise McpError(str(error)) from error
    async with stdio_streams(environment, job, traffic) as streams:
        yield streams
