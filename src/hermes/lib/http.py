"""The shared HTTP client: keep-alive, proxies and certificates as the environment it is given says."""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2

CONNECT_SECONDS = 15.0
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=120)


def new_client(
    environ: Mapping[str, str] | None = None, *, ca_cert: str = "", hosts: Mapping[str, str] | None = None
) -> httpx2.AsyncClient:
    """A client for one runtime; as many connections as there are sessions, each kept for the next request.

    Proxies are HTTPS_PROXY, HTTP_PROXY and ALL_PROXY of `environ`, in capitals or not, and NO_PROXY names
    hosts that are reached without. SSL_CERT_FILE replaces the certificates that are trusted, `ca_cert` (a PEM
    file) adds to them, and `hosts` adds a file for single hosts. ValueError says which file or address is
    none. Without `environ` the variables of the process count.
    """
    given = environ or {}
    trusted = _context(given, ca_cert)
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=LIMITS,
        verify=trusted,
        mounts={
            **dict(_proxied(given, trusted)),
            **{f"https://{host}": _to(host, given, file) for host, file in (hosts or {}).items()},
        },
        trust_env=environ is None,
        follow_redirects=False,
    )


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


def _proxied(
    environ: Mapping[str, str], trusted: ssl.SSLContext
) -> Iterator[tuple[str, httpx2.AsyncBaseTransport | None]]:
    without = excluded(environ)
    if "*" in without:
        return
    for scheme in ("http", "https"):
        address = proxy_for(scheme, environ)
        if address:
            yield f"{scheme}://", _through(address, trusted)
    for host in without:
        bare = host.removeprefix("*").lstrip(".")
        yield f"all://{f'[{bare}]' if ':' in bare and bare.count(':') > 1 else bare}", None
        if not bare.replace(".", "").replace(":", "").isdigit():
            yield f"all://*.{bare}", None


def _to(host: str, environ: Mapping[str, str], ca_cert: str) -> httpx2.AsyncBaseTransport:
    trusted, address = _context(environ, ca_cert), proxy_for("https", environ)
    skipped = any(
        one == "*" or host == one.lstrip("*.") or host.endswith("." + one.lstrip("*."))
        for one in excluded(environ)
    )
    return (
        _through(address, trusted)
        if address and not skipped
        else httpx2.AsyncHTTPTransport(verify=trusted, limits=LIMITS, trust_env=False)
    )


def _through(address: str, trusted: ssl.SSLContext) -> httpx2.AsyncBaseTransport:
    try:
        return httpx2.AsyncHTTPTransport(
            proxy=httpx2.Proxy(address), verify=trusted, limits=LIMITS, trust_env=False
        )
    except ImportError as error:
        raise ValueError("A SOCKS proxy needs the package socksio; run: pip install socksio") from error
    except (ValueError, httpx2.InvalidURL) as error:
        shown = address.rpartition("@")[2]
        raise ValueError(
            f"The proxy {shown} cannot be used ({error}); write it like http://host:port."
        ) from error


def _context(environ: Mapping[str, str], ca_cert: str) -> ssl.SSLContext:
    instead = environ.get("SSL_CERT_FILE", "")
    try:
        context = (
            ssl.create_default_context(cafile=_file(instead))
            if instead
            else httpx2.create_ssl_context(trust_env=False)
        )
        if ca_cert:
            context.load_verify_locations(cafile=_file(ca_cert))
    except (OSError, ssl.SSLError) as error:
        raise ValueError(
            f"{ca_cert or instead} is not a file of certificates in PEM form ({type(error).__name__})."
        ) from error
    return context


def _file(name: str) -> str:
    return str(Path(name).expanduser())
