"""The few facts that a GGUF file's header tells."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MOST_KEYS = 10_000


def context_length(path: Path) -> int:
    """The window in tokens that the model was trained for; 0 when the file does not say so or is no GGUF file."""
    try:
        with path.open("rb") as stream:
            return _search(stream, lambda key: key.endswith(".context_length"))
    except (OSError, struct.error, UnicodeDecodeError, MemoryError, OverflowError, KeyError):
        return 0


def _search(stream: BinaryIO, wanted: Callable[[str], bool]) -> int:
    if stream.read(4) != b"GGUF":
        return 0
    _version, _tensors, keys = struct.unpack("<IQQ", stream.read(20))
    for _ in range(min(keys, _MOST_KEYS)):
        key = _string(stream).decode()
        value = _value(stream, _scalar(stream, "<I"))
        if wanted(key):
            return int(value)
    return 0


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(stream)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", stream.read(12))
        return _skip_array(stream, inner, count)
    return _scalar(stream, _SCALARS[kind])


def _skip_array(stream: BinaryIO, kind: int, count: int) -> None:
    if kind in _SCALARS:
        stream.seek(struct.calcsize(_SCALARS[kind]) * count, 1)
        return
    for _ in range(count):
        _value(stream, kind)


def _scalar(stream: BinaryIO, form: str) -> Any:
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]


def _string(stream: BinaryIO) -> bytes:
    return stream.read(_scalar(stream, "<Q"))
