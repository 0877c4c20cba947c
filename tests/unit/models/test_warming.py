"""While somebody types, the server is connected to: nothing is sent but a question for its root."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hermes.lib.http import new_client
from hermes.models.local.serving import LocalModels
from hermes.models.warming import AGAIN, EndpointWarmer
from hermes.types.request import Endpoint

pytestmark = pytest.mark.anyio
Seen = list[tuple[str, str, str | None, int]]


@pytest.fixture
def server() -> Iterator[tuple[Endpoint, Seen]]:
    """A server that keeps connections, and what it was asked: method, path, credential and the connection's
    number.
    """
    seen: Seen = []
    ports: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            port = self.client_address[1]
            if port not in ports:
                ports.append(port)
            seen.append((self.command, self.path, self.headers["authorization"], ports.index(port)))
            self.send_response(404 if self.command == "HEAD" else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{listening.server_port}/v1"
    yield Endpoint(provider="own", base_url=address, model="m", credential="sk-1"), seen
    listening.shutdown()
    thread.join()
    listening.server_close()


async def test_the_next_request_goes_on_the_connection_that_was_made_ready(
    server: tuple[Endpoint, Seen],
) -> None:
    endpoint, seen = server
    async with new_client({}) as http:
        await EndpointWarmer(http, lambda: 0.0).warm(endpoint)
        await http.get(f"{endpoint.base_url}/models")
    assert seen == [("HEAD", "/", None, 0), ("GET", "/v1/models", None, 0)]


async def test_a_server_is_asked_once_a_minute_however_much_is_typed(server: tuple[Endpoint, Seen]) -> None:
    endpoint, seen = server
    now = 0.0
    async with new_client({}) as http:
        warmer = EndpointWarmer(http, lambda: now)
        for now in (0.0, 1.0, AGAIN - 1, AGAIN, AGAIN + 1):  # noqa: B007  # the clock
            await warmer.warm(endpoint)
    assert [method for method, *_ in seen] == ["HEAD", "HEAD"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "https://127.0.0.1:1", "http://[", ""])
async def test_a_server_that_cannot_be_reached_is_left_to_the_request_to_tell(address: str) -> None:
    async with new_client({}) as http:
        await EndpointWarmer(http, lambda: 0.0).warm(Endpoint(provider="own", base_url=address, model="m"))


@pytest.mark.parametrize("model", ["~no-such-user-here/x.gguf", "none.gguf", "a\0b.gguf", 7])
async def test_a_local_model_that_cannot_be_made_ready_is_left_to_the_request_to_tell(
    model: Any, tmp_path: Path
) -> None:
    async with new_client({}) as http:
        await LocalModels(tmp_path, http).warm(Endpoint(provider="local", base_url="", model=model), [])
