"""What the header of a GGUF file tells of its model: the window it was trained for, what a token of that
window takes in memory, and which texts are marks of its own.
"""

import struct
from collections.abc import Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

_SCALARS: Final = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_MOST_KEYS: Final = 10_000
_TOKENIZER: Final = b"tokenizer."
_MOST_TOKENS: Final = 2_000_000
_MOST_ITEMS: Final = 1_500_000
"""Items of arrays that are read one by one, which takes a second; a large vocabulary with merges has half."""
_LONGEST: Final = 16_000_000
"""Bytes of one text."""
_CONTROL: Final = 3
_CACHE_BYTES: Final = 2
"""Of a number in the cache of keys and values, which the engine keeps as f16."""
_UNREADABLE: Final = (
    OSError,
    struct.error,
    ValueError,
    MemoryError,
    OverflowError,
    KeyError,
    RecursionError,
)


class _HeaderFile(BufferedReader):
    """A file whose arrays have so many items at most, those of all together; OverflowError for more."""

    left = _MOST_ITEMS

    def spend(self, items: int) -> None:
        """Count items that are to be read."""
        self.left -= items
        if self.left < 0:
            raise OverflowError


class GgufHeader(Struct, frozen=True):
    """`context_length` in tokens and `token_bytes`, what the engine keeps of a token; 0 where the file does
    not say, or is no GGUF file.
    """

    context_length: int = 0
    token_bytes: int = 0


def gguf_header(path: Path) -> GgufHeader:
    """The header of a file."""
    try:
        with _HeaderFile(path.open("rb", buffering=0)) as stream:
            facts = _facts(stream) if stream.read(4) == b"GGUF" else {}
    except _UNREADABLE:
        return GgufHeader()
    return GgufHeader(context_length=_number(facts, "context_length"), token_bytes=_token_bytes(facts))


def control_tokens(path: Path) -> tuple[str, ...]:
    """The texts that the tokenizer of a file's model reads as one control token each, such as the marks
    between speakers; none where the file does not say, or is no GGUF file. Takes half a second.
    """
    try:
        with _HeaderFile(path.open("rb", buffering=0)) as stream:
            texts, kinds = _vocabulary(stream) if stream.read(4) == b"GGUF" else ((), ())
            found = zip(texts, kinds, strict=False)
            marks = [_decoded(text) for text, kind in found if kind == _CONTROL]
    except _UNREADABLE:
        return ()
    return tuple(mark for mark in marks if len(mark) > 1)


def _decoded(token: bytes) -> str:
    """Its text; empty for one that no text can hold."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return ""


def _vocabulary(stream: "_HeaderFile") -> tuple[Sequence[bytes], Sequence[int]]:
    """The tokens and their kinds."""
    _version, _tensors, keys = struct.unpack("<IQQ", stream.read(20))
    texts: Sequence[bytes] = ()
    kinds: Sequence[int] = ()
    for _ in range(min(keys, _MOST_KEYS)):
        key, kind = _string(stream), _scalar(stream, "<I")
        if key == _TOKENIZER + b"ggml.tokens":
            texts = [_string(stream) for _ in range(_count(stream))]
        elif key == _TOKENIZER + b"ggml.token_type":
            number = _count(stream)
            kinds = struct.unpack(f"<{number}i", stream.read(4 * number))
        else:
            _value(stream, kind)
    return texts, kinds


def _count(stream: "_HeaderFile") -> int:
    """How many elements an array has, whose kind is known."""
    found = int(struct.unpack("<IQ", stream.read(12))[1])
    if found > _MOST_TOKENS:
        raise OverflowError
    return found


def _facts(stream: "_HeaderFile") -> Mapping[str, Any]:
    """The facts about the model by the last parts of their names; those of the tokenizer, which are long, end
    it.
    """
    _version, _tensors, keys = struct.unpack("<IQQ", stream.read(20))
    facts: dict[str, Any] = {}
    for _ in range(min(keys, _MOST_KEYS)):
        key = _string(stream)
        if key.startswith(_TOKENIZER) and facts.get("context_length"):
            break
        facts[key.decode().partition(".")[2]] = _value(stream, _scalar(stream, "<I"))
    return facts


def _token_bytes(facts: Mapping[str, Any]) -> int:
    heads = _number(facts, "attention.head_count")
    width = _number(facts, "embedding_length") // max(heads, 1)
    keys = _number(facts, "attention.key_length") or width
    values = _number(facts, "attention.value_length") or width
    shared = _number(facts, "attention.head_count_kv") or heads
    return _number(facts, "block_count") * shared * (keys + values) * _CACHE_BYTES


def _number(facts: Mapping[str, Any], name: str) -> int:
    found = facts.get(name, 0)
    return max(found, 0) if isinstance(found, int) else 0


def _value(stream: "_HeaderFile", kind: int) -> Any:
    if kind == _STRING:
        return _string(stream)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", stream.read(12))
        return _skip_array(stream, inner, count)
    return _scalar(stream, _SCALARS[kind])


def _skip_array(stream: "_HeaderFile", kind: int, count: int) -> None:
    if kind in _SCALARS:
        stream.seek(struct.calcsize(_SCALARS[kind]) * count, 1)
        return
    stream.spend(count)
    for _ in range(count):
        _value(stream, kind)


def _scalar(stream: "_HeaderFile", form: str) -> Any:
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]


def _string(stream: "_HeaderFile") -> bytes:
    size = _scalar(stream, "<Q")
    if size > _LONGEST:
        raise OverflowError
    return stream.read(size)
