"""The shared client against a real proxy and a real certificate, both on loopback."""

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from hermes.lib.http import BadCertificates, new_client, proxy_for

pytestmark = pytest.mark.anyio


@contextmanager
def serving(name: str, context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[str]]]:
    """A server that answers everything with its name; the lines that it was asked with."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.send_header("content-length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_requests_go_through_the_proxy_of_the_environment_that_was_given() -> None:
    with serving("proxy") as (port, seen):
        async with new_client({"http_proxy": f"http://127.0.0.1:{port}"}) as http:
            assert (await http.get("http://models.example/v1/models")).text == "proxy"
    assert seen == ["http://models.example/v1/models"]


@pytest.mark.parametrize("without", ["127.0.0.1", "other.example, 127.0.0.1", "*"])
async def test_no_proxy_names_what_is_reached_without(without: str) -> None:
    with serving("server") as (port, _), serving("proxy") as (proxy, _):
        async with new_client({"ALL_PROXY": f"127.0.0.1:{proxy}", "NO_PROXY": without}) as http:
            assert (await http.get(f"http://127.0.0.1:{port}/")).text == "server"


async def test_a_host_that_no_proxy_does_not_name_goes_through_it() -> None:
    with serving("proxy") as (proxy, seen):
        async with new_client(
            {"HTTP_PROXY": f"http://127.0.0.1:{proxy}", "NO_PROXY": "corp.example"}
        ) as http:
            assert (await http.get("http://notcorp.example/")).text == "proxy"
            with pytest.raises((httpx2.ConnectError, AssertionError)):
                await http.get("http://in.corp.example/")
    assert seen == ["http://notcorp.example/"]


async def test_the_environment_of_the_process_counts_only_when_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serving("server") as (port, _):
        async with new_client({}) as http:
            assert (await http.get(f"http://127.0.0.1:{port}/")).text == "server"


def test_the_proxy_of_a_scheme_wins_over_the_one_of_all() -> None:
    environ = {"ALL_PROXY": "http://a:1", "https_proxy": "http://b:2"}
    assert (proxy_for("https", environ), proxy_for("http", environ), proxy_for("http", {})) == (
        "http://b:2",
        "http://a:1",
        "",
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    return folder


@pytest.fixture
def secure(certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with serving("secure", context) as (port, _):
        yield port


async def test_a_certificate_of_ones_own_is_trusted_when_named_and_only_then(
    secure: int, certificate: Path
) -> None:
    own, address = str(certificate / "cert.pem"), f"https://127.0.0.1:{secure}/"
    for client in (
        new_client({}, ca_cert=own),
        new_client({"SSL_CERT_FILE": own}),
        new_client({}, hosts={"127.0.0.1": own}),
    ):
        async with client as http:
            assert (await http.get(address)).text == "secure"
    async with new_client({}, hosts={"other.example": own}) as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(address)


async def test_a_file_damaged_behind_its_first_certificate_is_told_at_the_first_request_with_tls(
    secure: int, certificate: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.pem"
    damaged.write_bytes((certificate / "cert.pem").read_bytes() * 2 + b"-----BEGIN CERTIFICATE-----\n")
    with serving("plain") as (port, _):
        async with new_client({"SSL_CERT_FILE": str(damaged)}) as http:
            assert (await http.get(f"http://127.0.0.1:{port}/")).text == "plain"
            with pytest.raises(BadCertificates, match=r"damaged\.pem is not a file of certificates"):
                await http.get(f"https://127.0.0.1:{secure}/")


def test_what_is_no_certificate_and_no_proxy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.pem").write_text("nothing")
    with pytest.raises(ValueError, match=r"x\.pem is not a file of certificates"):
        new_client({}, ca_cert=str(tmp_path / "x.pem"))
    with pytest.raises(ValueError, match="gone.pem is not a file of certificates"):
        new_client({"SSL_CERT_FILE": str(tmp_path / "gone.pem")})
    with pytest.raises(ValueError, match="The proxy host:1 cannot be used") as fault:
        new_client({"HTTPS_PROXY": "gopher://user:sekret@host:1"})
    assert "sekret" not in str(fault.value)
    monkeypatch.setitem(sys.modules, "socksio", None)  # as it is where nothing else brought it
    with pytest.raises(ValueError, match="A SOCKS proxy needs the package socksio"):
        new_client({"ALL_PROXY": "socks5://127.0.0.1:9"})
