"""The way to a server at an address: streamable HTTP, or the older server-sent events."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from hermes.lib.hosts import is_loopback
from hermes.lib.http import new_client
from hermes.mcp.oauth import SIGN_IN
from hermes.mcp.settings import McpServer
from hermes.mcp.streams import LONGEST_MESSAGE, Streams, Traffic
from hermes.types.error import McpError

IDLE: Final = 300.0
"""Seconds that a stream may say nothing."""
ANSWER: Final = 30.0


@asynccontextmanager
async def http_streams(
    server: McpServer, environ: Mapping[str, str], auth: httpx2.Auth | None, traffic: Traffic
) -> AsyncIterator[Streams]:
    """The streams to a server at an address; McpError for one that would be reached in the clear."""
    check_address(server.url)
    made = partial(bounded_client, server, environ, auth, traffic)
    if server.transport == "sse":
        factory: Any = lambda **_: made()  # noqa: E731  # the library calls it with what we set ourselves
        async with sse_client(server.url, sse_read_timeout=IDLE, httpx_client_factory=factory) as streams:
            yield streams
        return
    async with made() as client, streamable_http_client(server.url, http_client=client) as streams:
        yield streams


def check_address(url: str) -> None:
    """McpError for an address that is none, or that would be reached in the clear."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise McpError(f"{url[:200]!r} is no address; write it like https://mcp.example.com/mcp")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise McpError(
            f"{url[:200]} is not encrypted; only servers of this machine are reached without https"
        )


@asynccontextmanager
async def bounded_client(
    server: McpServer, environ: Mapping[str, str], auth: httpx2.Auth | None, traffic: Traffic
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for one server, whose answers are bounded."""
    async with _way(server, environ) as inner:
        yield httpx2.AsyncClient(
            transport=_Bounded(inner, traffic, signs_in=auth is not None),
            headers={**server.headers, "accept-encoding": "identity"},
            auth=auth,
            timeout=httpx2.Timeout(ANSWER, read=IDLE),
            trust_env=False,
        )


def _way(server: McpServer, environ: Mapping[str, str]) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    if server.ssl_verify is False:
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        return httpx2.AsyncClient(verify=unchecked, trust_env=False)
    return new_client(environ, ca_cert=server.ssl_verify if isinstance(server.ssl_verify, str) else "")


class _Bounded(httpx2.AsyncBaseTransport):
    """Sends by another client, and ends an answer that is packed or longer than a message may be."""

    def __init__(self, inner: httpx2.AsyncClient, traffic: Traffic, *, signs_in: bool) -> None:
        self._inner, self._traffic, self._signs_in = inner, traffic, signs_in

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._traffic.count(0)
        found = await self._inner.send(request, stream=True)
        if found.status_code == 401 and not self._signs_in:
            self._traffic.refused = SIGN_IN
        if found.headers.get("content-encoding", "identity") != "identity":
            await found.aclose()
            raise httpx2.RemoteProtocolError("it answers in a packed form, which was not asked for")
        return httpx2.Response(
            found.status_code,
            headers=found.headers,
            stream=_BoundedStream(found, self._traffic),
            extensions=found.extensions,
        )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, found: httpx2.Response, traffic: Traffic) -> None:
        self._found, self._traffic = found, traffic

    async def __aiter__(self) -> AsyncIterator[bytes]:
        is_stream = self._found.headers.get("content-type", "").startswith("text/event-stream")
        size = 0
        async for chunk in self._found.aiter_raw():
            size += len(chunk)
            self._traffic.count_bytes(len(chunk))
            if size > LONGEST_MESSAGE and not is_stream:
                raise httpx2.RemoteProtocolError(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._found.aclose()
