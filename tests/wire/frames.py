"""Amazon's event frames, written by hand after the published form."""

import json
import struct
import zlib
from typing import Any


def _header(name: str, value: str) -> bytes:
    return (
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
    )


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def event(name: str, tree: dict[str, Any]) -> bytes:
    return frame(
        {":event-type": name, ":content-type": "application/json", ":message-type": "event"},
        json.dumps(tree).encode(),
    )


def fault(name: str, message: str) -> bytes:
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())
