"""Send a rendered request, feed the reader, hand out deltas as they come."""

import math
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

import anyio
import httpx2

from hermes.models.classify import StalledError, StatusError
from hermes.models.transports.base import Reader, WireRequest
from hermes.types.message import Assistant
from hermes.types.request import Delta

ERROR_BODY_LIMIT = 64_000
FIRST_BYTES_OF_ERROR = 10.0
STEP = 1 / 16
"""By what part of the idle limit its end is moved at once: to move it for every piece costs more than to read the piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: to the first piece of the reply, between two pieces, and in all. What only keeps a line open is no piece.

    The time between two pieces may be longer than `idle` by up to a sixteenth of it.
    """

    first_byte: float = 120.0
    idle: float = 60.0
    total: float = 900.0


async def send(
    http: httpx2.AsyncClient,
    wire: WireRequest,
    reader: Reader,
    limits: Limits,
    emit: Callable[[Delta], None],
    *,
    deadline: float = math.inf,
) -> Assistant:
    """One attempt, over by `deadline` on anyio's clock. StatusError, StalledError, transport and reader errors pass through."""
    started = anyio.current_time()
    end = min(deadline, started + limits.total)
    with anyio.CancelScope(deadline=min(end, started + limits.first_byte)) as scope:
        response = await _answer(http, wire)
        try:
            if response.status_code >= 300:
                raise StatusError(response.status_code, response.headers, await _error_body(response))
            seen, move = 0, -math.inf
            async with aclosing(response.aiter_bytes()) as pieces:
                async for data in pieces:
                    for delta in reader.feed(data):
                        emit(delta)
                    if reader.progress != seen:
                        seen, now = reader.progress, anyio.current_time()
                        if now >= move:
                            move = now + limits.idle * STEP
                            scope.deadline = min(end, move + limits.idle)
        finally:
            if not response.is_closed:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        return reader.finish()
    raise StalledError(_stalled(limits, reader, late=anyio.current_time() >= end))


async def _answer(http: httpx2.AsyncClient, wire: WireRequest) -> httpx2.Response:
    request = http.build_request("POST", wire.url, headers=wire.headers, content=wire.body)
    try:
        return await http.send(request, stream=True)
    except UnicodeError as error:  # what the resolver makes of a name that is none; not every event loop wraps it
        raise httpx2.InvalidURL(f"{request.url.host} is no name of a server; set base_url to its address.") from error


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


def _stalled(limits: Limits, reader: Reader, *, late: bool) -> str:
    if late:
        return "the reply was not whole when its time was over"
    if reader.progress:
        return f"the reply stopped: nothing more came for {limits.idle:.0f} s"
    return f"no reply began within {limits.first_byte:.0f} s"
