"""Connections that are kept for the next request, found at once however many there are."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import cast

import anyio
import httpx2

KEPT = 120.0
"""Seconds after which a connection that nobody has used is closed."""
ONE = httpx2.Limits(max_connections=1, keepalive_expiry=KEPT)
"""What a transport for a single connection is made with."""

LATE = "late"
"""The extension of a request that says, as a function, whether its time was over when it ended."""

Origin = tuple[str, str, int | None]


class ConnectionPool(httpx2.AsyncBaseTransport):
    """A transport whose requests take the free connection to their server that was used last, or a new one.

    That of httpx2 looks at all its connections when a request begins and when it ends; with as many at once
    as there are sessions it does little else. `make` gives a transport that has one connection at most.

    Where a request came to no end in time, the free connections to its server may lead nowhere, too, as after
    a change of network: they are closed.
    """

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport], *, seconds: float = KEPT) -> None:
        self._make, self._seconds = make, seconds
        self._all: set[httpx2.AsyncBaseTransport] = set()
        self._free: dict[Origin, deque[tuple[float, httpx2.AsyncBaseTransport]]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send on a connection that is free again when the response is closed."""
        origin = (request.url.scheme, request.url.host, request.url.port)
        late = request.extensions.get(LATE, bool)
        free = self._free.get(origin)
        one = free.pop()[1] if free else self._new()
        try:
            response = await one.handle_async_request(request)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self._drop(one)
                if late() or isinstance(error, httpx2.TimeoutException):
                    await self._drop_free(origin)
            raise
        body = cast("httpx2.AsyncByteStream", response.stream)  # of an async transport
        response.stream = _Returning(body, partial(self._put_back, origin, one, late))
        return response

    async def close_unused(self) -> None:
        """Close the connections that were free for `seconds`."""
        before = anyio.current_time() - self._seconds
        for origin, free in [*self._free.items()]:
            while free and free[0][0] <= before:
                await self._drop(free.popleft()[1])
            if not free:
                self._free.pop(origin, None)

    async def tend(self) -> None:
        """Close what is not used, for ever: also when nobody sends anything any more."""
        while True:
            await anyio.sleep(self._seconds / 4)
            await self.close_unused()

    async def aclose(self) -> None:
        """Close all connections, whoever uses them."""
        self._free.clear()
        while self._all:
            await self._all.pop().aclose()

    def _new(self) -> httpx2.AsyncBaseTransport:
        one = self._make()
        self._all.add(one)
        return one

    async def _put_back(
        self, origin: Origin, one: httpx2.AsyncBaseTransport, late: Callable[[], bool]
    ) -> None:
        if late():
            await self._drop(one)
            await self._drop_free(origin)
        elif one in self._all:
            self._free.setdefault(origin, deque()).append((anyio.current_time(), one))

    async def _drop_free(self, origin: Origin) -> None:
        for _, one in self._free.pop(origin, ()):
            await self._drop(one)

    async def _drop(self, one: httpx2.AsyncBaseTransport) -> None:
        self._all.discard(one)
        await one.aclose()


class _Returning(httpx2.AsyncByteStream):
    """A response's body that gives its connection back when it is closed."""

    def __init__(self, body: httpx2.AsyncByteStream, put_back: Callable[[], Awaitable[None]]) -> None:
        self._body, self._put_back, self._closed = body, put_back, False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()  # itself, not its pieces again: there are many

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._body.aclose()
        finally:
            await self._put_back()
