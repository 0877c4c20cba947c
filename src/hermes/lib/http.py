"""The HTTP client of a runtime: keep-alive, proxies and certificates as the environment it is given says."""

import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cache, partial
from pathlib import Path

import httpx2

from hermes.lib.aio import background
from hermes.lib.connection_pool import ONE, ConnectionPool

CONNECT_SECONDS = 15.0
END = "-----END CERTIFICATE-----"
Trusted = Callable[[], ssl.SSLContext]


class BadCertificates(ValueError):
    """A file that certificates are to be read from cannot be used; the message names it."""


def new_client(
    environ: Mapping[str, str], *, ca_cert: str = "", hosts: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    """A client for one runtime; as many connections as there are requests at once, each kept for the next.

    Proxies are HTTPS_PROXY, HTTP_PROXY and ALL_PROXY of `environ`, in capitals or not, and NO_PROXY names
    hosts that are reached without. SSL_CERT_FILE replaces the certificates that are trusted, `ca_cert` (a PEM
    file) adds to them, and `hosts` adds a file for single hosts. ValueError says which file or address is
    none; BadCertificates comes out of the first request with TLS where a file is damaged behind its first
    certificate.
    """
    trusted = cache(partial(_context, environ, ca_cert))
    for file in filter(None, (environ.get("SSL_CERT_FILE"), ca_cert)):
        _check(file)  # says what is wrong with it now, not at the first request
    mounts = {
        "http://": _direct(_trusting_nobody),
        **dict(_proxied(environ, trusted)),
        **{f"https://{host}": _to(host, environ, file) for host, file in (hosts or {}).items()},
    }
    direct = _direct(trusted)
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        transport=direct,
        mounts=mounts,
        trust_env=False,
        follow_redirects=False,
    )
    return _tended(client, [direct, *filter(None, mounts.values())])


@asynccontextmanager
async def _tended(
    client: httpx2.AsyncClient, pools: Sequence[ConnectionPool]
) -> AsyncIterator[httpx2.AsyncClient]:
    async with client, background() as start:
        for pool in pools:
            start(pool.tend)
        yield client


def proxy_for(scheme: str, environ: Mapping[str, str]) -> str:
    """The proxy of a scheme, or an empty text."""
    named = (_read(environ, f"{scheme}_proxy"), _read(environ, "all_proxy"))
    found = next((value for value in named if value), "")
    return found if "://" in found or not found else f"http://{found}"


def excluded(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Hosts that NO_PROXY names; `*` alone means all."""
    return tuple(item.strip() for item in _read(environ, "no_proxy").split(",") if item.strip())


def _read(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _proxied(environ: Mapping[str, str], trusted: Trusted) -> Iterator[tuple[str, ConnectionPool | None]]:
    without = excluded(environ)
    if "*" in without:
        return
    for scheme in ("http", "https"):
        address = proxy_for(scheme, environ)
        if address:
            yield f"{scheme}://", _through(address, trusted())
    for host in without:
        bare = host.removeprefix("*").lstrip(".")
        yield f"all://{f'[{bare}]' if ':' in bare and bare.count(':') > 1 else bare}", None
        if not bare.replace(".", "").replace(":", "").isdigit():
            yield f"all://*.{bare}", None


def _to(host: str, environ: Mapping[str, str], ca_cert: str) -> ConnectionPool:
    trusted, address = _context(environ, ca_cert), proxy_for("https", environ)
    skipped = any(
        one == "*" or host == one.lstrip("*.") or host.endswith("." + one.lstrip("*."))
        for one in excluded(environ)
    )
    return _through(address, trusted) if address and not skipped else _direct(lambda: trusted)


def _direct(trusted: Trusted) -> ConnectionPool:
    return ConnectionPool(lambda: httpx2.AsyncHTTPTransport(verify=trusted(), limits=ONE, trust_env=False))


@cache
def _trusting_nobody() -> ssl.SSLContext:
    """For connections without TLS: reading the certificates takes 26 ms of a start."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _through(address: str, trusted: ssl.SSLContext) -> ConnectionPool:
    try:
        make = partial(
            httpx2.AsyncHTTPTransport,
            proxy=httpx2.Proxy(address),
            verify=trusted,
            limits=ONE,
            trust_env=False,
        )
        make()  # says what is wrong with the address now, not at the first request
    except ImportError as error:
        raise ValueError("A SOCKS proxy needs the package socksio; run: pip install socksio") from error
    except (ValueError, httpx2.InvalidURL) as error:
        shown = address.rpartition("@")[2]
        raise ValueError(
            f"The proxy {shown} cannot be used ({error}); write it like http://host:port."
        ) from error
    return ConnectionPool(make)


def _context(environ: Mapping[str, str], ca_cert: str) -> ssl.SSLContext:
    instead = environ.get("SSL_CERT_FILE", "")
    with _told(ca_cert or instead):
        context = (
            ssl.create_default_context(cafile=_file(instead))
            if instead
            else httpx2.create_ssl_context(trust_env=False)
        )
        if ca_cert:
            context.load_verify_locations(cafile=_file(ca_cert))
    return context


def _check(file: str) -> None:
    """BadCertificates for what does not begin with one: to read all of a system's takes 26 ms of a start."""
    with _told(file):
        first, end, _ = Path(_file(file)).read_text(encoding="ascii", errors="ignore").partition(END)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=first + end)


@contextmanager
def _told(file: str) -> Iterator[None]:
    """Say of a fault which file has it."""
    try:
        yield
    except (OSError, ValueError) as error:  # those of certificates are among them
        raise BadCertificates(
            f"{file} is not a file of certificates in PEM form ({type(error).__name__})."
        ) from error


def _file(name: str) -> str:
    return str(Path(name).expanduser())
