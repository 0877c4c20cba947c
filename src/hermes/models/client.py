"""One request to a model: send it, feed the reader, hand out deltas; and the HTTP client that settings ask
for.
"""

import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import cast
from urllib.parse import urlsplit

import anyio
import httpx2
from msgspec import Struct
from msgspec.structs import force_setattr

from hermes.config.sections import Settings
from hermes.lib.connection_pool import LATE
from hermes.lib.http import new_client
from hermes.lib.threads import clock
from hermes.models.catalog.catalogue import address, known_providers
from hermes.models.settings import NetworkSettings, ProviderSettings
from hermes.models.transports.base import (
    BadReplyError,
    CutShortError,
    ReplyReader,
    StalledError,
    StatusError,
    UnshapedError,
    WireError,
    WireRequest,
)
from hermes.types.error import ConfigError
from hermes.types.message import Assistant
from hermes.types.request import Delta

ERROR_BODY_LIMIT = 64_000
FIRST_BYTES_OF_ERROR = 10.0
STEP = 1 / 16
"""By what part of the idle limit its end is moved at once: to move it for every piece costs more than to read
the piece.
"""
FAULTS = (
    StatusError,
    StalledError,
    WireError,
    CutShortError,
    BadReplyError,
    UnshapedError,
    httpx2.RequestError,
    httpx2.InvalidURL,
)
"""What a request can fail with."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds: to the first piece of the reply, between two pieces, and in all. What only keeps a line open
    is no piece.

    The time between two pieces may be longer than `idle` by up to a sixteenth of it. 0 is no limit;
    ConfigError for what is no time.
    """

    first_byte: float = 120.0
    idle: float = 60.0
    total: float = 1800.0

    def __post_init__(self) -> None:
        for name in ("first_byte", "idle", "total"):
            given = getattr(self, name)
            if not given >= 0:
                raise ConfigError(
                    f"The limit {name} is {given}: give seconds, or 0 for no limit.",
                    key=f"model.{name}_timeout",
                )
            force_setattr(self, name, given or math.inf)


async def send(
    http: httpx2.AsyncClient,
    wire: WireRequest,
    reader: ReplyReader,
    timeouts: Timeouts,
    emit: Callable[[Delta], None],
    *,
    deadline: float = math.inf,
) -> Assistant:
    """One attempt, over by `deadline` on anyio's clock.

    StatusError, StalledError, transport and reader errors pass through; a connection that is lost once the
    server has answered is a CutShortError.
    """
    now = clock()
    started = now()
    end = min(deadline, started + timeouts.total)
    with anyio.CancelScope(deadline=min(end, started + timeouts.first_byte)) as scope:
        late = {LATE: lambda: scope.cancel_called}
        request = http.build_request(
            "POST", wire.url, headers=wire.headers, content=wire.body, extensions=late
        )
        try:
            response = await http.send(request, stream=True)
        except UnicodeError as error:  # of a name that is none; not every event loop wraps it
            raise httpx2.InvalidURL(
                f"{request.url.host} is no name of a server; set base_url to its address."
            ) from error
        try:
            if response.status_code >= 300:
                raise StatusError(response.status_code, response.headers, await _error_body(response))
            seen, move = 0, -math.inf
            async with aclosing(_pieces(response)) as pieces:
                async for data in pieces:
                    for delta in reader.feed(data):
                        emit(delta)
                    if reader.progress != seen:
                        seen, at = reader.progress, now()
                        if at >= move:
                            move = at + timeouts.idle * STEP
                            scope.deadline = min(end, move + timeouts.idle)
        except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            raise CutShortError(
                str(error) or "The connection was lost in the middle of the reply."
            ) from error
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()
        return reader.finish()
    raise StalledError(_stalled(timeouts, reader, late=now() >= end))


def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes; where there is nothing to decode, without the layers that each piece would pass
    for that.
    """
    if "content-encoding" in response.headers:
        return response.aiter_bytes()
    return cast("AsyncGenerator[bytes, None]", aiter(cast("httpx2.AsyncByteStream", response.stream)))


async def _error_body(response: httpx2.Response) -> bytes:
    """The start of an error's body, or what of it came in time: the status alone says enough to go on."""
    body = b""
    with anyio.move_on_after(FIRST_BYTES_OF_ERROR):
        async with aclosing(response.aiter_bytes()) as pieces:
            async for data in pieces:
                body += data
                if len(body) >= ERROR_BODY_LIMIT:
                    break
    return body[:ERROR_BODY_LIMIT]


def _stalled(timeouts: Timeouts, reader: ReplyReader, *, late: bool) -> str:
    if late:
        return "the reply was not whole when its time was over"
    if reader.progress:
        return f"the reply stopped: nothing more came for {timeouts.idle:.0f} s"
    return f"no reply began within {timeouts.first_byte:.0f} s"


def client_for(
    settings: Settings, environ: Mapping[str, str]
) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    """A client with the proxies of `environ`, `network.ca_cert`, and the certificates of single providers;
    ConfigError when one is none.
    """
    named = (
        [(one, one.ca_cert) for one in known_providers(settings).values() if one.ca_cert]
        if any(one.ca_cert for one in settings[ProviderSettings].by_name().values())
        else []
    )
    hosts = {urlsplit(address(one, environ)).netloc: file for one, file in named}
    try:
        return new_client(environ, ca_cert=settings[NetworkSettings].ca_cert, hosts=hosts)
    except ValueError as error:
        raise ConfigError(str(error), key="network.ca_cert") from error
