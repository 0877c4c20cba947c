"""A loopback server that keeps what it was sent and gives a set answer, for official clients to talk to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Recorder:
    """What came: pairs of path and body, and the headers of each; `address` is where it listens."""

    answer: bytes
    media_type: str
    address: str = ""
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def recording(answer: bytes, media_type: str) -> Iterator[Recorder]:
    kept = Recorder(answer, media_type)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.requests.append((self.path, body))
            kept.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-type", kept.media_type)
            self.send_header("content-length", str(len(kept.answer)))
            self.end_headers()
            self.wfile.write(kept.answer)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kept.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
