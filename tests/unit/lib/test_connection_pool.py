"""The pool against a real server on loopback that counts its connections."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.abc
import httpx2
import pytest

from hermes.lib.connection_pool import ONE, ConnectionPool
from hermes.lib.http import new_client

pytestmark = pytest.mark.anyio


@dataclass
class Server:
    """Answers every request with two bytes, those for /slow once `go` is set."""

    url: str = ""
    opened: int = 0
    open_now: int = 0
    asked: int = 0
    go: anyio.Event = field(default_factory=anyio.Event)

    async def talk(self, stream: anyio.abc.SocketStream) -> None:
        self.opened += 1
        self.open_now += 1
        try:
            async with stream:
                while (head := await stream.receive()) != b"":
                    self.asked += 1
                    if head.startswith(b"GET /slow"):
                        await self.go.wait()
                    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
        finally:
            self.open_now -= 1

    async def until(self, **wanted: int) -> None:
        with anyio.fail_after(20):
            while any(getattr(self, name) != value for name, value in wanted.items()):  # noqa: ASYNC110  # several
                await anyio.sleep(0.005)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        server.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        group.start_soon(listener.serve, server.talk)
        yield server
        group.cancel_scope.cancel()


@asynccontextmanager
async def pool_of(seconds: float) -> AsyncIterator[tuple[httpx2.AsyncClient, ConnectionPool]]:
    pool = ConnectionPool(partial(httpx2.AsyncHTTPTransport, limits=ONE, trust_env=False), seconds=seconds)
    async with httpx2.AsyncClient(transport=pool) as http:
        yield http, pool


async def at_once(http: httpx2.AsyncClient, server: Server, count: int) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(http.get, f"{server.url}/slow")
        await server.until(asked=count)
        server.go.set()


async def test_there_are_as_many_connections_as_requests_at_once_and_each_is_used_again() -> None:
    async with serving() as server, new_client({}) as http:
        await at_once(http, server, 30)
        for _ in range(30):
            assert (await http.get(server.url)).text == "hi"
        assert (server.opened, server.asked) == (30, 60)


async def test_what_nobody_used_for_a_while_is_closed_and_the_rest_goes_on() -> None:
    async with serving() as server, pool_of(60.0) as (http, pool):
        await at_once(http, server, 5)
        await pool.close_unused()
        assert server.open_now == 5
    async with serving() as server, pool_of(0.0) as (http, pool):
        await at_once(http, server, 5)
        async with http.stream("GET", server.url) as response:
            await pool.close_unused()
            await server.until(open_now=1)
            assert await response.aread() == b"hi"
        await http.get(server.url)
        assert server.opened == 5


async def test_connections_are_given_up_though_nothing_is_sent_any_more() -> None:
    async with serving() as server, pool_of(0.05) as (http, pool), anyio.create_task_group() as group:
        await at_once(http, server, 5)
        group.start_soon(pool.tend)
        await server.until(open_now=0)
        group.cancel_scope.cancel()


async def test_a_request_that_is_given_up_leaves_no_connection() -> None:
    async with serving() as server, new_client({}) as http:
        async with anyio.create_task_group() as group:
            group.start_soon(http.get, f"{server.url}/slow")
            await server.until(asked=1)
            group.cancel_scope.cancel()
        server.go.set()
        await server.until(open_now=0)
        assert (await http.get(server.url)).text == "hi"
        assert server.opened == 2


async def test_after_a_time_out_idle_connections_to_that_server_are_not_used_again() -> None:
    async with serving() as server, serving() as other, new_client({}) as http:
        await at_once(http, server, 5)
        await http.get(other.url)
        server.go = anyio.Event()
        with pytest.raises(httpx2.ReadTimeout):
            await http.get(f"{server.url}/slow", timeout=0.1)
        server.go.set()
        await server.until(open_now=0)
        await http.get(server.url)
        await http.get(other.url)
        assert (server.opened, other.opened) == (6, 1)


async def test_after_a_request_that_was_given_up_idle_connections_are_used_again() -> None:
    async with serving() as server, new_client({}) as http:
        await at_once(http, server, 5)
        server.go = anyio.Event()
        with anyio.move_on_after(0.1):
            await http.get(f"{server.url}/slow")
        server.go.set()
        await server.until(open_now=4)
        await http.get(server.url)
        assert server.opened == 5


async def test_a_client_that_closes_leaves_no_connection_though_a_reply_was_never_read() -> None:
    async with serving() as server:
        async with new_client({}) as http:
            await at_once(http, server, 3)
            await http.send(http.build_request("GET", server.url), stream=True)
            assert server.open_now == 3
        await server.until(open_now=0)


async def test_servers_do_not_share_connections() -> None:
    async with serving() as one, serving() as other, new_client({}) as http:
        for server in (one, other, one, other):
            await http.get(server.url)
        assert (one.opened, one.asked, other.opened, other.asked) == (1, 2, 1, 2)


async def test_a_body_that_is_closed_twice_gives_its_connection_back_once() -> None:
    async with serving() as server, new_client({}) as http:
        response = await http.send(http.build_request("GET", server.url), stream=True)
        await response.stream.aclose()  # type: ignore[union-attr]  # of an async client
        await response.aclose()
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(http.get, f"{server.url}/slow")
            await server.until(asked=3)
            server.go.set()
        assert server.open_now == 2


async def test_the_end_of_the_program_leaves_a_client_as_it_is() -> None:
    with pytest.raises(SystemExit) as ended:
        async with new_client({}):
            sys.exit(3)
    assert ended.value.code == 3
