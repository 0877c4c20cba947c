"""An identity provider that vouches for users of MCP servers: what it may answer is bounded."""

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hermes.mcp.identity import assertion
from hermes.mcp.settings import McpIdentity
from hermes.types.error import McpError

pytestmark = pytest.mark.anyio

TOKEN = b'{"access_token": "vouched"}'


class _Answers(BaseHTTPRequestHandler):
    def __init__(self, headers: Mapping[str, str], pieces: list[bytes], *args: Any) -> None:
        self._answer, self._pieces = headers, pieces
        super().__init__(*args)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        for name, value in self._answer.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in self._pieces:
                self.wfile.write(piece)
        except OSError:  # nobody reads on
            return

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(headers: Mapping[str, str], pieces: list[bytes]) -> Iterator[McpIdentity]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answers, headers, pieces))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield McpIdentity(token_endpoint=f"http://127.0.0.1:{server.server_port}/token", id_token="mine")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def vouched(headers: Mapping[str, str], pieces: list[bytes]) -> str:
    with answering(headers, pieces) as identity:
        return await assertion(
            identity, {}, lambda: 0.0, "https://auth.example.com", "https://mcp.example.com"
        )


async def test_what_the_provider_gives_is_the_assertion() -> None:
    assert await vouched({}, [TOKEN]) == "vouched"


LARGE = [b'{"more": "', *[b"x" * 1_000_000] * 17, b'", "access_token": "vouched"}']


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio tells of the HTTP library's own open generators
@pytest.mark.parametrize(
    ("headers", "pieces", "why"),
    [
        ({}, LARGE, "does not answer: it sent a message of more than 16,000,000 bytes"),
        (
            {"content-encoding": "gzip"},
            [gzip.compress(TOKEN)],
            "does not answer: it answers in a packed form, which was not asked for",
        ),
        ({"content-length": "99"}, [TOKEN], "does not answer: "),
        ({}, [b"no"], "does not vouch for you: HTTP 200"),
    ],
    ids=["large", "packed", "cut", "no JSON"],
)
async def test_an_answer_that_cannot_be_taken_is_none(
    headers: Mapping[str, str], pieces: list[bytes], why: str
) -> None:
    with pytest.raises(McpError, match=f"the identity provider {why}"):
        await vouched(headers, pieces)
