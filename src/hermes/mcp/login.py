"""Signing in to a server in the browser of whoever asks for it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult
from msgspec.structs import replace

from hermes.mcp.assembly import token_file
from hermes.mcp.http import http_streams
from hermes.mcp.oauth import SignedIn, TokenFile
from hermes.mcp.settings import McpServer
from hermes.mcp.streams import Traffic
from hermes.models.auth.oauth import SignInError, listen, port_of, returned
from hermes.types.error import McpError

if TYPE_CHECKING:
    from hermes.mcp.servers import McpHome

CALLBACK: Final = "/callback"
_FAULTS: Final = (OAuthFlowError, OAuthRegistrationError, OAuthTokenError, SignInError)


@asynccontextmanager
async def signing_in(
    name: str, server: McpServer, home: "McpHome", show: Callable[[str], Awaitable[None]]
) -> AsyncIterator[SignedIn]:
    """What authenticates requests, by a new sign-in where one is wanted; `show` is given the address to open.

    SignInError where the port for the browser is taken.
    """
    file, options = token_file(name, home), server.oauth
    listener = await listen(options.redirect_port or _port(file))
    redirect = options.redirect_uri or f"http://{options.redirect_host}:{port_of(listener)}{CALLBACK}"
    _forget_other(file, redirect)
    states: list[str] = []

    async def visit(url: str) -> None:
        states.append(parse_qs(urlsplit(url).query).get("state", [""])[0])
        await show(url)

    async def came_back() -> AuthorizationCodeResult:
        query = await returned(listener, CALLBACK, states[-1], options.timeout)
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    async with listener:
        yield SignedIn(server.url, options, file, redirect, visit, came_back)


async def sign_in(
    name: str, server: McpServer, home: "McpHome", show: Callable[[str], Awaitable[None]]
) -> int:
    """Sign in to a server and keep it; the number of its tools. McpError says why it failed."""
    async with signing_in(name, server, home, show) as auth:
        return await _tools(server, home.environ, auth, Traffic(home.ports.monotonic))


async def _tools(server: McpServer, environ: Mapping[str, str], auth: SignedIn, traffic: Traffic) -> int:
    try:
        async with Client(http_streams(server, environ, auth, traffic), mode="auto", cache=None) as client:
            return len((await client.list_tools()).tools)
    except Exception as error:
        fault: Any = error
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        if isinstance(fault, _FAULTS):
            raise McpError(f"The sign-in failed: {fault}") from error
        raise McpError(f"The server could not be used: {fault}") from error


def _port(file: TokenFile) -> int:
    """The port that the server knows us by; any other where it knows none."""
    known = file.load().client.get("redirect_uris") or [""]
    return urlsplit(str(known[0])).port or 0


def _forget_other(file: TokenFile, redirect: str) -> None:
    """Register anew where the server knows us by another address."""
    kept = file.load()
    if kept.client and redirect not in map(str, kept.client.get("redirect_uris") or ()):
        file.save(replace(kept, client={}, tokens={}, ends=0.0))
