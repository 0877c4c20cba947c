"""A door on loopback to the model server for one task of another agent: it sets the temperature, counts the
replies and remembers the last one.
"""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from urllib.parse import urlsplit

_CHUNK = 65_536


class Gate:
    """Passes requests on to the server at `base_url`; after `most` they are `spent`."""

    def __init__(self, base_url: str, key: str, most: int) -> None:
        self.server, self.key, self.most = urlsplit(base_url), key, most
        self.steps, self.spent, self.model_seconds = 0, False, 0.0
        self.replies: list[str] = []
        self.open: set[socket.socket] = set()
        self._doors = _Doors(("127.0.0.1", 0), _handler(self))
        self.base_url = f"http://127.0.0.1:{self._doors.server_port}/v1"

    def __enter__(self) -> Self:
        Thread(target=self._doors.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the doors, and the requests that are still on their way, so that the server is free again."""
        for each in [*self.open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._doors.shutdown()
        self._doors.server_close()


class _Doors(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for what is on its way


def _handler(gate: Gate) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _pass_on(self, gate, None)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            gate.spent = gate.spent or gate.steps >= gate.most
            if gate.spent:
                self.send_error(403, "no more steps")
                return
            gate.steps += 1
            _pass_on(self, gate, asked | {"temperature": 0})

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _pass_on(handler: BaseHTTPRequestHandler, gate: Gate, asked: dict[str, Any] | None) -> None:
    """Send the request on and the reply back as it comes; remember it however it ends."""
    connection = http.client.HTTPConnection(gate.server.hostname or "", gate.server.port)
    taken, began = bytearray(), time.perf_counter()
    try:
        with suppress(OSError, http.client.HTTPException):
            for piece in _reply(handler, gate, connection, asked):
                taken += piece
                handler.wfile.write(piece)
                handler.wfile.flush()
    finally:
        gate.open.discard(connection.sock)
        connection.close()
        if asked is not None:
            gate.model_seconds += time.perf_counter() - began
            gate.replies.append(said(bytes(taken)))


def _reply(
    handler: BaseHTTPRequestHandler,
    gate: Gate,
    connection: http.client.HTTPConnection,
    asked: dict[str, Any] | None,
) -> Iterator[bytes]:
    """The pieces of the server's reply, once its head has been passed back."""
    headers = {"authorization": f"Bearer {gate.key}", "content-type": "application/json"}
    body = None if asked is None else json.dumps(asked)
    connection.connect()
    gate.open.add(connection.sock)
    connection.request(handler.command, handler.path, body, headers)
    response = connection.getresponse()
    handler.send_response(response.status)
    handler.send_header("content-type", response.getheader("content-type") or "application/json")
    handler.send_header("connection", "close")
    handler.end_headers()
    while piece := response.read1(_CHUNK):
        yield piece


def said(reply: bytes) -> str:
    """The text of a reply, whole or as a stream of events, even one that was broken off."""
    text = reply.decode(errors="replace")
    if not text.lstrip().startswith("data:"):
        return _content(text, "message")
    events = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    return "".join(_content(event, "delta") for event in events)


def _content(text: str, part: str) -> str:
    try:
        choices = json.loads(text).get("choices") or [{}]
    except ValueError:  # the end of a stream, or half an event
        return ""
    return (choices[0].get(part) or {}).get("content") or ""
