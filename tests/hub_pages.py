"""A web server on a port of this machine that stands for hubs of skills: pages by their paths."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Page = bytes | str | int | list[Any] | dict[str, Any]
"""The bytes of a page, which are called packed where they begin like gzip, where it leads on to, a status, or
its JSON.
"""


@contextmanager
def hub_pages(pages: Mapping[str, Page], asked: list[str]) -> Iterator[str]:
    """The address that pages are at, by path and query; what is asked for is written down."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            page = pages.get(self.path, 404)
            self.send_response(page if isinstance(page, int) else 302 if isinstance(page, str) else 200)
            if isinstance(page, str):
                self.send_header("Location", page)
            body = json.dumps(page).encode() if isinstance(page, list | dict) else page
            sent = body if isinstance(body, bytes) else b""
            if sent.startswith(b"\x1f\x8b"):
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        # The name it has in the base class
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
