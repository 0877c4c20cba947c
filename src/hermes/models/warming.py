"""A connection that is there before the first word is sent: its name looked up, its TLS agreed on."""

from collections.abc import Callable
from typing import Final

import anyio
import httpx2

from hermes.lib.connection_pool import KEPT
from hermes.types.request import Endpoint

SECONDS: Final = 10.0
"""How long a server has to take the connection; the request itself waits longer and says what is wrong."""
AGAIN: Final = KEPT / 2
"""Seconds for which a server that was reached is not asked again: its connection is kept for twice that."""


class EndpointWarmer:
    """Connects to servers ahead of the requests to them.

    The connection goes into the client's pool by way of a HEAD request to the server's root, without a
    credential and without a word of any session; what the server says to it does not matter.
    """

    def __init__(self, http: httpx2.AsyncClient, monotonic: Callable[[], float]) -> None:
        self._http, self._monotonic = http, monotonic
        self._tried: dict[str, float] = {}

    def due(self, endpoint: Endpoint) -> bool:
        """Whether a connection would be new; asked for each key that is typed."""
        before = self._monotonic() - AGAIN
        return bool(endpoint.base_url) and self._tried.get(endpoint.base_url, before) <= before

    async def warm(self, endpoint: Endpoint) -> None:
        """Connect to the server of an endpoint, if one is due; a fault is left to the request to tell."""
        if not self.due(endpoint):
            return
        self._tried[endpoint.base_url] = self._monotonic()
        with anyio.move_on_after(SECONDS):
            try:
                await self._http.head(httpx2.URL(endpoint.base_url).join("/"))
            except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError):
                return
