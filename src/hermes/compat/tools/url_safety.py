"""`tools.url_safety`: which addresses are of the open Internet."""

import socket
from functools import partial
from urllib.parse import urlsplit

from hermes.lib.hosts import is_open
from hermes.lib.threads import in_thread


def is_safe_url(url: str) -> bool:
    """Whether an address is one of the open Internet, and every address that its name leads to."""
    try:
        found = urlsplit(url)
        port = found.port or (443 if found.scheme == "https" else 80)
        if found.scheme not in {"http", "https"} or not found.hostname:
            return False
        led = {str(one[4][0]) for one in socket.getaddrinfo(found.hostname, port, type=socket.SOCK_STREAM)}
    except (OSError, ValueError):
        return False
    return bool(led) and all(is_open(one, (), port) for one in led)


async def async_is_safe_url(url: str) -> bool:
    """As `is_safe_url`, without holding up a loop."""
    return await in_thread(partial(is_safe_url, url))
