"""Send a rendered request, feed the reader, hand out deltas as they come."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: to the first byte, between two bytes, and in all."""

    first_byte: float = 120.0
    idle: float = 60.0
    total: float = 900.0


async def send(http: httpx2.AsyncClient, wire: WireRequest, reader: Reader, limits: Limits, emit: Callable[[Delta], None]) -> Assistant:
    """One attempt. StatusError, StalledError, transport errors and the reader's own errors pass through."""
    end = anyio.current_time() + limits.total
    with anyio.CancelScope(deadline=min(end, anyio.current_time() + limits.first_byte)) as scope:
        request = http.build_request("POST", wire.url, headers=wire.headers, content=wire.body)
        response = await http.send(request, stream=True)
        try:
            if response.status_code >= 400:
                raise StatusError(response.status_code, response.headers, (await response.aread())[:ERROR_BODY_LIMIT])
            async with aclosing(response.aiter_bytes()) as pieces:
                async for data in pieces:
                    scope.deadline = min(end, anyio.current_time() + limits.idle)
                    for delta in reader.feed(data):
                        emit(delta)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()
        return reader.finish()
    raise StalledError(_stalled(limits, late=anyio.current_time() >= end))


def _stalled(limits: Limits, *, late: bool) -> str:
    if late:
        return f"the reply was not whole after {limits.total:.0f} s"
    return "no byte came in time"
