"""What the three wires that take cache marks put into a body for them."""

import re

_MARK = re.compile(
    rb',"cache_control":\{"type":"ephemeral"(?:,"ttl":"1h")?\}|,\{"cachePoint":\{"type":"default"(?:,"ttl":"1h")?\}\}'
)


def unmarked(body: bytes) -> bytes:
    """A body without its marks; each extends the one before, byte by byte."""
    return _MARK.sub(b"", body)
