"""The way out to named hosts: what it lets through, what it refuses and in which words, over real sockets and made-up names."""

import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hermes.environments.sandbox.proxy import NoWay, Proxy, Resolve, parse
from tests.page import served


@pytest.fixture
def port() -> Iterator[int]:
    with served() as port:
        yield port


def names(**known: list[str]) -> Resolve:
    """A name server of our own."""

    async def resolve(host: str, port: int) -> list[str]:
        del port
        found = known.get(host.removesuffix(".test"))
        if found is None:
            raise OSError("no such name")
        return found

    return resolve


@contextmanager
def opened(hosts: list[str], resolve: Resolve) -> Iterator[Callable[[bytes], str]]:
    with tempfile.TemporaryDirectory() as folder:
        proxy = Proxy(Path(folder) / "network", hosts, resolve=resolve)
        proxy.open()
        try:

            def ask(request: bytes) -> str:
                with closing(socket.socket(socket.AF_UNIX)) as client:
                    client.settimeout(10)
                    client.connect(str(proxy.path))
                    client.sendall(request)
                    answer = b""
                    while data := client.recv(65_536):
                        answer += data
                        if answer.endswith(b"established\r\n\r\n"):
                            client.sendall(b"GET /inside HTTP/1.0\r\nHost: x\r\n\r\n")
                    told.extend(proxy.take_refused())
                    return answer.decode()

            yield ask
        finally:
            proxy.close()
        assert not proxy.path.exists()


told: list[str] = []


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    told.clear()


def get(address: str) -> bytes:
    return f"GET {address} HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic x\r\n\r\n".encode()


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def test_a_listed_host_is_reached_by_both_ways_and_sees_its_own_name(port: int) -> None:
    with opened([f"good.test:{port}", f"127.0.0.1:{port}"], names(good=["127.0.0.1"])) as ask:
        assert ask(get(f"http://good.test:{port}/page?q=1")).endswith(f"\r\n\r\n/page?q=1 good.test:{port} -")
        assert ask(connect("good.test", port)).endswith("\r\n\r\n/inside x -")
    assert told == []


@pytest.mark.parametrize("request_", [get("http://evil.test/"), connect("evil.test", 80)])
def test_a_host_that_is_not_listed_is_refused_in_one_sentence(request_: bytes) -> None:
    with opened(["good.test"], names(evil=["127.0.0.1"])) as ask:
        answer = ask(request_)
    sentence = "evil.test:80 is not in terminal.network, so commands in the sandbox cannot reach it."
    assert (answer.splitlines()[0], answer.splitlines()[-1], told) == (
        f"HTTP/1.1 403 {sentence}",
        sentence,
        [sentence],
    )


@pytest.mark.parametrize(
    ("answers", "bad"),
    [
        (["127.0.0.1"], "127.0.0.1"),
        (["169.254.169.254"], "169.254.169.254"),
        (["::ffff:127.0.0.1"], "::ffff:127.0.0.1"),
        (["93.184.216.34", "10.0.0.1"], "10.0.0.1"),
        (["fd00:ec2::254"], "fd00:ec2::254"),
        (["0.0.0.0"], "0.0.0.0"),
        (["64:ff9b::7f00:1"], "64:ff9b::7f00:1"),
    ],
)
def test_a_listed_name_that_leads_inside_is_refused_whatever_else_it_leads_to(
    answers: list[str], bad: str
) -> None:
    with opened(["good.test"], names(good=answers)) as ask:
        answer = ask(connect("good.test", 443))
    assert answer.splitlines()[0] == (
        f"HTTP/1.1 403 good.test:443 leads to {bad}, and that is no address of the open Internet;"
        " list the address itself in terminal.network if it is meant."
    )


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1", "[::1]", "localhost", "[::ffff:127.0.0.1]"],
)
def test_no_spelling_of_this_machine_is_reached(host: str, port: int) -> None:
    with opened(["*:*"], names()) as ask:
        assert ask(connect(host, port)).startswith(("HTTP/1.1 403 ", "HTTP/1.1 502 "))
        assert ask(get(f"http://{host}:{port}/")).startswith(("HTTP/1.1 403 ", "HTTP/1.1 502 "))


def test_a_name_is_looked_up_once_and_the_checked_address_is_the_one_connected_to(port: int) -> None:
    asked: list[str] = []

    async def rebinding(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with opened([f"good.test:{port}", f"127.0.0.1:{port}"], rebinding) as ask:
        assert ask(connect("good.test", port)).endswith("/inside x -")
        assert asked == ["good.test"]
        assert "403 good.test" in ask(connect("good.test", port))  # the second answer is judged as what it is


def test_a_redirect_is_handed_on_and_its_target_judged_when_the_client_comes_back(port: int) -> None:
    with opened(
        [f"good.test:{port}", f"127.0.0.1:{port}"], names(good=["127.0.0.1"], inner=["127.0.0.1"])
    ) as ask:
        assert "Location: http://inner.test/secret" in ask(get(f"http://good.test:{port}/away"))
        assert "403 inner.test:80 is not in terminal.network" in ask(get("http://inner.test/secret"))


def test_names_without_an_address_and_hosts_that_do_not_answer_say_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        closed = silent.getsockname()[1]
    with opened(["gone.test", f"127.0.0.1:{closed}"], names()) as ask:
        assert ask(connect("gone.test", 443)).startswith("HTTP/1.1 502 gone.test has no address.")
        assert ask(connect("127.0.0.1", closed)).startswith(
            f"HTTP/1.1 502 127.0.0.1:{closed} does not answer."
        )


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1",
        b"GET ftp://a.test/ HTTP/1.1",
        b"GET https://a.test/ HTTP/1.1",
        b"SSH-2.0-x",
    ],
)
def test_what_a_proxy_does_not_get_is_refused(head: bytes) -> None:
    with pytest.raises(NoWay):
        parse(head)


def test_a_head_without_an_end_is_not_read_for_ever() -> None:
    with opened(["good.test"], names()) as ask:
        assert ask(b"GET http://good.test/ HTTP/1.1\r\nX: " + b"x" * 40_000).startswith("HTTP/1.1 431 ")
