"""Amazon's binary event frames (application/vnd.amazon.eventstream): lengths, headers, payload, and a
checksum over each.
"""

import json
import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple
from zlib import crc32

from hermes.models.transports.base import BadReplyError

PRELUDE, CHECKSUM = 12, 4
_prelude = struct.Struct(">III").unpack_from
_checksum = struct.Struct(">I").unpack_from
_size = struct.Struct(">H").unpack_from
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _STRING = 6, 7


class Frame(NamedTuple):
    """One frame: `kind` is event, exception or error, `name` its type, `said` the sentence of an error."""

    kind: str
    name: str
    payload: bytes
    said: str = ""


class Frames:
    """Splits a byte stream into frames; it may be cut anywhere.

    `what` names what should come, for BadReplyError.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._rest = b""
        self._known: dict[bytes, Callable[[bytes], Frame]] = {}

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        self._rest = rest = self._rest + data if self._rest else data
        found, start = [], 0
        while len(rest) - start >= PRELUDE:
            total, headers, sum_so_far = _prelude(rest, start)
            if crc32(rest[start : start + 8]) != sum_so_far or total < headers + PRELUDE + CHECKSUM:
                raise self._bad("the beginning of a frame does not match its checksum")
            end = start + total
            if end > len(rest):
                break
            if crc32(rest[start + 8 : end - CHECKSUM], sum_so_far) != _checksum(rest, end - CHECKSUM)[0]:
                raise self._bad("a frame does not match its checksum")
            begin = start + PRELUDE + headers
            found.append(self._maker(rest[start + PRELUDE : begin])(rest[begin : end - CHECKSUM]))
            start = end
        self._rest = rest[start:]
        return found

    def _maker(self, headers: bytes) -> Callable[[bytes], Frame]:
        """What makes a frame with these headers of its payload; the same ones come again and again."""
        known = self._known.get(headers)
        if known is None:
            try:
                known = self._known[headers] = _maker_of(_texts(headers))
            except (struct.error, KeyError, IndexError, UnicodeDecodeError) as error:
                raise self._bad("a frame has broken headers") from error
        return known

    def _bad(self, why: str) -> BadReplyError:
        return BadReplyError(f"The server sent something that is not {self._what}: {why}.")


def _texts(headers: bytes) -> dict[str, str]:
    """The headers that hold a text; the others are passed over."""
    found: dict[str, str] = {}
    at = 0
    while at < len(headers):
        name_end = at + 1 + headers[at]
        name, kind, value = headers[at + 1 : name_end].decode(), headers[name_end], name_end + 1
        if kind in {_BYTES, _STRING}:
            size, value = _size(headers, value)[0], value + 2
        else:
            size = _SIZES[kind]
        at = value + size
        if at > len(headers):
            raise IndexError(at)
        if kind == _STRING:
            found[name] = headers[value:at].decode()
    return found


def _maker_of(headers: Mapping[str, str]) -> Callable[[bytes], Frame]:
    kind = headers.get(":message-type", "event")
    if kind == "error":
        code, said = headers.get(":error-code", ""), headers.get(":error-message", "")
        return lambda payload: Frame(kind, code, payload, said)
    if kind == "exception":
        exception = headers.get(":exception-type", "")
        return lambda payload: Frame(kind, exception, payload, _sentence(payload))
    name = headers.get(":event-type", "")
    return lambda payload: Frame("event", name, payload)


def _sentence(payload: bytes) -> str:
    try:
        tree = json.loads(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")
    return str(tree.get("message") or tree.get("Message") or "") if isinstance(tree, dict) else str(tree)
