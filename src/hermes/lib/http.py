"""The shared HTTP client: keep-alive, proxies from the environment with NO_PROXY."""

import httpx2

CONNECT_SECONDS = 15.0


def new_client() -> httpx2.AsyncClient:
    """A client for one runtime; as many connections as there are sessions, each kept for the next request."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=120),
        follow_redirects=False,
    )
