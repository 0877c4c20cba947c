"""The way out for commands that may reach named hosts only: a proxy that checks the name, and the address
that it leads to.

It serves CONNECT and plain HTTP on a socket with a name, follows no redirects, and connects to the very
address it has checked.
"""

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.abc
from anyio.from_thread import start_blocking_portal
from msgspec import Struct

from hermes.lib.hosts import HostEntry, allows, entry, is_open, plain_host

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host name."""

_LONGEST_HEAD: Final = 32_768
_HEAD_SECONDS: Final = 20.0
_RESOLVE_SECONDS: Final = 15.0
_CONNECT_SECONDS: Final = 15.0
_IDLE_SECONDS: Final = 300.0
_MOST: Final = 128  # connections at a time
_KEPT_REFUSALS: Final = 20
_NOT_PASSED_ON: Final = frozenset(
    {"host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"}
)


class NoWay(Exception):
    """A connection that is not made; the words are for the model."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class ProxyRequest(Struct, frozen=True, kw_only=True):
    """What a client wants: a host and a port, and for plain HTTP the head that the server gets instead."""

    host: str
    port: int
    head: bytes = b""


class Proxy:
    """A proxy for these hosts, in a thread of its own from `open` to `close`; `path` is its socket."""

    def __init__(self, path: Path, hosts: Iterable[str], *, resolve: Resolve | None = None) -> None:
        self.path = path
        self._entries = tuple(entry(host) for host in hosts)
        self._resolve = resolve or system_resolve
        self._refused: list[str] = []
        self._opened = ExitStack()

    def open(self) -> None:
        """Start; it can be connected to from now on."""
        with ExitStack() as opening:
            portal = opening.enter_context(start_blocking_portal())
            scope = portal.start_task(self._serve)[1]
            opening.callback(portal.call, scope.cancel)
            self._opened = opening.pop_all()

    def close(self) -> None:
        """Stop, and take the socket away."""
        self._opened.close()
        self.path.unlink(missing_ok=True)

    def take_refused(self) -> list[str]:
        """What was refused since the last time, each in one sentence."""
        taken, self._refused = self._refused, []
        return list(dict.fromkeys(taken))

    async def _serve(self, *, task_status: anyio.abc.TaskStatus[anyio.CancelScope]) -> None:
        folder = os.open(
            self.path.parent, os.O_PATH | os.O_DIRECTORY
        )  # the whole path may be longer than a socket's name can be
        try:
            listener = await anyio.create_unix_listener(
                f"/proc/self/fd/{folder}/{self.path.name}", mode=0o600
            )
        finally:
            os.close(folder)
        limiter = anyio.CapacityLimiter(_MOST)
        with anyio.CancelScope() as scope:
            task_status.started(scope)
            async with listener:
                await listener.serve(lambda stream: self._client(stream, limiter))

    async def _client(self, client: anyio.abc.SocketStream, limiter: anyio.CapacityLimiter) -> None:
        with suppress(
            anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, TimeoutError, OSError
        ):
            async with client, limiter:
                try:
                    with anyio.fail_after(_HEAD_SECONDS):
                        head, rest = await _head(client)
                    asked = parse(head)
                    server = await self._connected(asked)
                except NoWay as refusal:
                    self._refused = [*self._refused, str(refusal)][-_KEPT_REFUSALS:]
                    await client.send(_answer(refusal))
                    return
                async with server:
                    await server.send(asked.head + rest) if asked.head + rest else None
                    if not asked.head:
                        await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await _both_ways(client, server)

    async def _connected(self, asked: ProxyRequest) -> anyio.abc.SocketStream:
        entries = self._entries
        if not allows(entries, asked.host, asked.port):
            raise NoWay(
                403,
                f"{_shown(asked)} is not in terminal.network, so commands in the sandbox cannot reach it.",
            )
        for address in await self._addresses(asked, entries):
            with suppress(OSError, TimeoutError), anyio.fail_after(_CONNECT_SECONDS):
                return await anyio.connect_tcp(address, asked.port)
        raise NoWay(502, f"{_shown(asked)} does not answer.")

    async def _addresses(self, asked: ProxyRequest, entries: tuple[HostEntry, ...]) -> list[str]:
        """The addresses of a host, all of them checked: one bad one among them is a sign that somebody plays
        with the names.
        """
        try:
            with anyio.fail_after(_RESOLVE_SECONDS):
                found = (
                    [asked.host] if _is_address(asked.host) else await self._resolve(asked.host, asked.port)
                )
        except (OSError, TimeoutError) as error:
            raise NoWay(502, f"{asked.host} has no address.") from error
        for address in found:
            if not is_open(address, entries, asked.port):
                told = (
                    "that is no address of the open Internet; list the address itself in terminal.network if"
                    " it is meant"
                )
                raise NoWay(403, f"{_shown(asked)} leads to {address}, and {told}.")
        return found


async def system_resolve(host: str, port: int) -> list[str]:
    """The addresses that this machine knows for a name."""
    return list(dict.fromkeys(str(found[4][0]) for found in await anyio.getaddrinfo(host, port)))


def parse(head: bytes) -> ProxyRequest:
    """What the head of a request asks for; NoWay when it is not one that a proxy gets."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise NoWay(400, "This is not a request that a proxy understands.")
    method, target, version = words
    try:
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            return ProxyRequest(host=plain_host(host), port=_port(port))
        parts = urlsplit(target)
        if parts.scheme != "http" or not parts.hostname:
            raise NoWay(400, "This proxy passes on http:// addresses and CONNECT, and nothing else.")
        host, number = plain_host(parts.hostname), _port(str(parts.port or 80))
    except (ValueError, UnicodeError) as error:
        raise NoWay(
            403, "What was asked for is neither a host name nor an address in the usual form."
        ) from error
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authority = (f"[{host}]" if ":" in host else host) + ("" if number == 80 else f":{number}")
    kept = [
        line for line in lines[1:] if line and line.partition(":")[0].strip().lower() not in _NOT_PASSED_ON
    ]
    sent = [f"{method} {path} {version}", f"Host: {authority}", *kept, "Connection: close"]
    return ProxyRequest(host=host, port=number, head=("\r\n".join(sent) + "\r\n\r\n").encode("latin-1"))


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise ValueError(text)
    return int(text)


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


def _shown(asked: ProxyRequest) -> str:
    return f"[{asked.host}]:{asked.port}" if ":" in asked.host else f"{asked.host}:{asked.port}"


def _answer(refusal: NoWay) -> bytes:
    """The refusal as an answer; many programs show the first line alone, so the words stand there, too."""
    body = f"{refusal}\n".encode()
    head = (
        f"HTTP/1.1 {refusal.status} {refusal}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length:"
        f" {len(body)}\r\n"
    )
    return head.encode("ascii", "replace") + b"Connection: close\r\n\r\n" + body


async def _head(client: anyio.abc.SocketStream) -> tuple[bytes, bytes]:
    """The head of a request, and what came after it already."""
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > _LONGEST_HEAD:
            raise NoWay(431, "The head of this request is too long.")
        data += await client.receive()
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


async def _both_ways(client: anyio.abc.SocketStream, server: anyio.abc.SocketStream) -> None:
    """Copy until both have ended, or until nothing has come from either for a long time."""
    with anyio.CancelScope() as silence:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_copy, client, server, silence)
            tasks.start_soon(_copy, server, client, silence)


async def _copy(
    source: anyio.abc.SocketStream, target: anyio.abc.SocketStream, silence: anyio.CancelScope
) -> None:
    try:
        while True:
            silence.deadline = anyio.current_time() + _IDLE_SECONDS
            await target.send(await source.receive())
    except anyio.EndOfStream:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await target.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        silence.cancel()
