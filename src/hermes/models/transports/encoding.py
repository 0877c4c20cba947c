"""What JSON wires share: bytes, addresses, headers, ids of calls, data addresses of files."""

import base64
import binascii
import contextlib
import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes.lib.codec import mended
from hermes.types.message import Attachment, ToolCall
from hermes.types.request import Request

_FRAME_FIELDS = frozenset({"model", "messages", "input", "stream"})
_encode = msgspec.json.Encoder().encode


def encode(tree: Any) -> bytes:
    """JSON; lone surrogates become U+FFFD."""
    try:
        return _encode(tree)
    except UnicodeEncodeError:
        return _encode(mended(tree))


def address(base_url: str, path: str) -> str:
    """`base_url` with `path` at its end, before a query if it has one."""
    place, mark, query = base_url.partition("?")
    return place.rstrip("/") + path + mark + query


def headers(request: Request) -> dict[str, str]:
    """The endpoint's headers, with its credential in the one that it wants."""
    endpoint = request.endpoint
    common = {"content-type": "application/json", "accept": "text/event-stream, application/json", **endpoint.headers}
    if not endpoint.credential or endpoint.auth == "aws":
        return common
    if endpoint.auth == "bearer":
        return {**common, "authorization": f"Bearer {endpoint.credential}"}
    return {**common, endpoint.auth: endpoint.credential}


def same_frame(known: Request, request: Request) -> bool:
    """Whether all but the messages of two requests is the same."""
    return (
        known.tools is request.tools
        and known.system == request.system
        and (known.options is request.options or known.options == request.options)
        and (known.endpoint is request.endpoint or known.endpoint == request.endpoint)
        and known.without == request.without
    )


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with what the user adds to it; what makes the request this request stays."""
    return {**body, **{name: value for name, value in extra.items() if name not in _FRAME_FIELDS}}


def call_id(given: str, pattern: str) -> str:
    """An id that matches `pattern`: the given one or, always the same for the same, another."""
    if not pattern or re.fullmatch(pattern, given):
        return given
    return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:9]


def arguments(call: ToolCall) -> str:
    """Arguments as the model wrote them, if that was JSON; else as they were understood, for history must always be valid."""
    as_written = call.raw and not call.repaired and not call.fault
    return call.raw if as_written else encode(call.arguments).decode()


def data_address(item: Attachment) -> str:
    """The file as an address that holds it."""
    return f"data:{item.media_type};base64,{item.data}"


def is_image(item: Attachment) -> bool:
    """Whether the file is a picture."""
    return item.media_type.startswith("image/")


def in_words(item: Attachment) -> str:
    """A file that the model does not take as one: its text, if it is a text, else words in its place."""
    named = f" {item.name}" if item.name else ""
    if item.media_type.startswith("text/"):
        with contextlib.suppress(binascii.Error):
            return f"[The file{named}:]\n{base64.b64decode(item.data).decode('utf-8', 'replace')}"
    return f"[The file{named} ({item.media_type}) is left out: this model does not take it.]"
