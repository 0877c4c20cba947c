"""The server on a port of this machine, for clients that know its token."""

import hmac
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from hermes.apps.serve.mcp_server import required

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
_CLOSING: Final = 3
"""Seconds that open streams may take when the server ends."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def bound(port: int) -> socket.socket:
    """A socket on this machine alone, at which who comes before we serve waits; port 0 is any that is free.
    OSError where it is taken.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((HOST, port))
    found.listen()
    return found


async def serve_http(server: Any, listening: socket.socket, token: str) -> None:
    """Serve until the program is told to end. Requests of other hosts and origins, and those without the
    token, are refused.
    """
    app = TokenGuard(server.streamable_http_app(streamable_http_path=PATH, host=HOST), token)
    config = required("uvicorn:Config")(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=_CLOSING
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it raises it anew, which would end us at once
    await required("uvicorn:Server")(config).serve(sockets=[listening])


class TokenGuard:
    """An ASGI app behind a bearer token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] == "lifespan" or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http":
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"This server wants its bearer token."})

    def _is_known(self, scope: Scope) -> bool:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        return hmac.compare_digest(given, self._expected)
