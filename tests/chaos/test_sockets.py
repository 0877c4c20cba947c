"""Faults below HTTP, on real sockets: refused, unknown, untrusted, reset; alone and with a fallback that others wrote."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread

import httpx2
import pytest

from hermes.testing import ScriptedServer
from tests.chaos.harness import ANSWERED, Faulty, Place
from tests.wire.fakes import aimock

__all__ = ["aimock"]
pytestmark = pytest.mark.anyio
RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"
"""Close with a reset instead of an end (struct linger: on, no time)."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
FIRST = b'data: {"choices":[{"delta":{"content":"Let me"}}]}\n\n'


@contextmanager
def listening(answer: bytes, context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[int]]]:
    """A server that says `answer` to whatever comes, then resets the connection; its port, and what it got."""
    got: list[int] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = Thread(target=_serve, args=(server, answer, context, got))
        thread.start()
        try:
            yield server.getsockname()[1], got
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(server: socket.socket, answer: bytes, context: ssl.SSLContext | None, got: list[int]) -> None:
    while True:
        try:
            caller, _ = server.accept()
        except OSError:
            return
        with caller:
            caller.settimeout(60)  # A busy machine may let a client wait for seconds in its handshake
            try:
                line = context.wrap_socket(caller, server_side=True) if context else caller
                got.append(len(line.recv(65_536)))
                line.sendall(answer)
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                line.close()
            except OSError:
                pass


@pytest.fixture(scope="module")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("certificate")
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        *subject,
    ]
    subprocess.run(
        [*made, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def place(environ: dict[str, str], first: str, second: str = "") -> Place:
    return Place(
        environ,
        http=httpx2.AsyncClient(trust_env=False),
        fallback=bool(second),
        addresses={"one": first, "two": second or "http://127.0.0.1:1"},
    )


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


UNREACHED = {
    "refused": "connection_refused",
    "unknown host": "connection",
    "a name that is none": "connection",
    "not TLS": "connection",
}


def address(kind: str, plain: int) -> str:
    addresses = {
        "refused": f"http://127.0.0.1:{closed_port()}/v1",
        "unknown host": "http://no-such-host.invalid/v1",
        "a name that is none": "http://a..b/v1",
        "not TLS": f"https://127.0.0.1:{plain}/v1",
    }
    return addresses[kind]


@pytest.mark.parametrize("kind", UNREACHED)
async def test_a_server_that_cannot_be_reached_ends_in_one_failure_that_says_so(
    environ: dict[str, str], kind: str
) -> None:
    with listening(b"hello\r\n") as (port, _):
        trial = await place(environ, address(kind, port)).turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used) == (("failed", UNREACHED[kind], ()), 3)


@pytest.mark.parametrize("kind", UNREACHED)
async def test_a_server_that_cannot_be_reached_is_left_behind(environ: dict[str, str], kind: str) -> None:
    two = Faulty()
    with listening(b"hello\r\n") as (port, _), ScriptedServer(two).running() as server:
        trial = await place(environ, address(kind, port), server.base_url).turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used, two.count) == (ANSWERED, 5, 2)


async def test_a_certificate_that_nobody_trusts_is_not_tried_again(
    environ: dict[str, str], untrusted: ssl.SSLContext
) -> None:
    with listening(b"", untrusted) as (port, got):
        trial = await place(environ, f"https://127.0.0.1:{port}/v1").turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used, got) == (("failed", "certificate", ()), 1, [])


async def test_a_certificate_that_nobody_trusts_is_left_behind(
    environ: dict[str, str], untrusted: ssl.SSLContext
) -> None:
    two = Faulty()
    with listening(b"", untrusted) as (port, got), ScriptedServer(two).running() as server:
        trial = await place(environ, f"https://127.0.0.1:{port}/v1", server.base_url).turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used, two.count, got) == (ANSWERED, 3, 2, [])


ANSWERS = {
    "before a byte": b"",
    "in the head": HEAD[:20],
    "after the head": HEAD,
    "in a chunk": HEAD + b"%x\r\n%s" % (len(FIRST) + 10, FIRST),
    "after a chunk": HEAD + b"%x\r\n%s\r\n" % (len(FIRST), FIRST),
    "no HTTP": b"220 mail.example ESMTP\r\n",
}


@pytest.mark.parametrize("when", ANSWERS)
async def test_a_connection_that_is_reset_ends_in_one_failure(environ: dict[str, str], when: str) -> None:
    with listening(ANSWERS[when]) as (port, got):
        trial = await place(environ, f"http://127.0.0.1:{port}/v1").turn()
    trial.hold_but_for_servers()
    outcome, reason, refused = trial.outcome
    assert (outcome, refused, trial.used, len(got)) == ("failed", (), 3, 3)
    answered = when in {"after the head", "in a chunk", "after a chunk"}  # a reset may overtake what was sent
    assert reason in ({"cut_short", "connection"} if answered else {"connection"})


@pytest.mark.parametrize("when", ANSWERS)
async def test_a_connection_that_is_reset_is_left_behind(environ: dict[str, str], when: str) -> None:
    two = Faulty()
    with listening(ANSWERS[when]) as (port, got), ScriptedServer(two).running() as server:
        trial = await place(environ, f"http://127.0.0.1:{port}/v1", server.base_url).turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used, len(got), two.count) == (ANSWERED, 5, 3, 2)


async def test_a_server_of_other_makers_that_refuses_is_left_behind_and_both_count_alike(
    environ: dict[str, str], aimock: str
) -> None:
    two = Faulty()
    before = await journal(aimock)
    with ScriptedServer(two).running() as server:
        trial = await place(environ, f"{aimock}/v1", server.base_url).turn()
    trial.hold_but_for_servers()
    assert (trial.outcome, trial.used) == (ANSWERED, await journal(aimock) - before + two.count)


async def journal(server: str) -> int:
    """How many model requests it has seen."""
    async with httpx2.AsyncClient() as http:
        return len(
            [one for one in (await http.get(f"{server}/__aimock/journal")).json() if one["method"] == "POST"]
        )
