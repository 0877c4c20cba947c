"""A web server on a port of this machine that says what it was asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Page(BaseHTTPRequestHandler):
    """Says what it was asked, and leads elsewhere when the path says so."""

    def do_GET(self) -> None:
        if self.path.startswith("/away"):
            self.send_response(302)
            self.send_header("Location", "http://inner.test/secret")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = f"{self.path} {self.headers['Host']} {self.headers.get('Proxy-Authorization', '-')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # The name it has in the base class
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def served() -> Iterator[int]:
    """The port that the pages are at."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()
