"""The scripted model behind a real socket on loopback, for programs that run in a process of their own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio.from_thread

from hermes.testing.script import ScriptedModel


class ScriptedServer:
    """`base_url` is what `--base-url` wants; `connections` counts the TCP connections it took."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.connections = 0
        self.faults: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def base_url(self) -> str:
        """The address of the served interface."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @contextmanager
    def running(self) -> Iterator["ScriptedServer"]:
        """Serve while the context is open; a request that broke the script fails the test on the way out."""
        with anyio.from_thread.start_blocking_portal() as portal:
            serving = portal.start_task_soon(_serve, self._server)
            try:
                yield self
            finally:
                self._server.shutdown()
                serving.result()
                self._server.server_close()
        assert not self.faults, self.faults


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_args: Any) -> None:
        """Say nothing of clients that left in the middle: interrupted turns do."""


async def _serve(server: ThreadingHTTPServer) -> None:
    await anyio.to_thread.run_sync(server.serve_forever, 0.02)


def _handler(owner: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            owner.connections += 1

        def do_GET(self) -> None:
            """Lists nothing: a server need not tell its models."""
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_HEAD(self) -> None:
            """Somebody connects ahead of a request."""
            self.do_GET()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                turn = owner.model.next(body)
            except AssertionError as fault:
                owner.faults.append(str(fault))
                self.send_error(500, "the script does not expect this")
                return
            self.send_response(turn.status)
            for name, value in turn.headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in (*turn.pieces, b""):
                if turn.pause:
                    time.sleep(turn.pause)  # noqa: TID251  # a server thread of its own
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()

        def log_message(self, *_args: Any) -> None:
            """Say nothing on stderr."""

    return Handler
