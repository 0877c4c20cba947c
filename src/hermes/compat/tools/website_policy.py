"""`tools.website_policy`: which pages may be read."""

from hermes.compat.tools.url_safety import is_safe_url
from hermes.compat.utils import base_url_hostname


def check_website_access(url: str) -> dict[str, str] | None:
    """Why a page may not be read; None where it may."""
    if is_safe_url(url):
        return None
    host = base_url_hostname(url)
    message = f"{host or url} is not an address of the open Internet."
    return {"url": url, "host": host, "rule": "private address", "message": message}
