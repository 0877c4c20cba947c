"""Secrets in forms that no list of spellings can hold: broken by terminal codes, partly escaped, in dumps of
bytes, encoded twice.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import Final

_ROUNDS: Final = 3
_CODES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)")
_ESCAPES: Final = {
    "%": re.compile(r"(?:%[0-9A-Fa-f]{2})+"),
    "\\": re.compile(r"(?:\\u[0-9a-fA-F]{4})+|(?:\\x[0-9a-fA-F]{2})+"),
    "=": re.compile(r"(?:=[0-9A-F]{2})+|=\r?\n"),
    "&#": re.compile(r"(?:&#(?:x[0-9a-fA-F]{1,6}|[0-9]{1,7});)+"),
}
_ROWS: Final = re.compile(
    r"(?m)^(?:[0-9a-fA-F]{4,16}:?[ \t]{1,4})?(?:[0-9a-fA-F]{2,8}[ \t:,-]{1,3}){3,40}[^\n]*(?:\n|$)"
)
_OFFSET: Final = re.compile(r"^(?:[0-9a-fA-F]{4,16}:|[0-9a-fA-F]{6,16})[ \t]{1,4}(?=[0-9a-fA-F]{2})")
_SHOWN: Final = re.compile(r"  +(?=\S*[^0-9a-fA-F\s])|\|")
_GROUP: Final = re.compile(r"(?<![^ \t:,-])(?:[0-9a-fA-F]{2}){1,4}(?=[ \t:,\n-]|$)")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_SIGNS: Final = re.compile(r"[\x1b%\\=]|&#|[A-Za-z0-9+/_-]{20}|(?:[0-9a-fA-F]{2,8}[ \t:,-]{1,3}){3}")
"""What some way of disguise leaves in a text, whichever it is."""


def undisguised(text: str, values: Collection[str], mask: str) -> str:
    """`text` with a mask for each of the values that stands in it in disguise."""
    if not values or not _SIGNS.search(text):
        return text
    if "\x1b" in text:
        text = _escaped(text, _CODES, values, mask)
    for sign, pattern in _ESCAPES.items():
        if sign in text:
            text = _escaped(text, pattern, values, mask)
    data = tuple(value.encode("utf-8", "surrogateescape") for value in values)
    return _encoded(_dumped(text, data, mask), data, mask)


def _escaped(text: str, pattern: re.Pattern[str], values: Collection[str], mask: str) -> str:
    """What is escaped in parts, also more than once; each way of escaping by itself, for one may look like a
    part of the secret.
    """
    plain, places = text, [(0, 0)]
    for _ in range(_ROUNDS):
        before = plain
        plain, places = _resolved(plain, pattern, places)
        if plain == before:
            break
        hits = sorted(span for value in values for span in _found(plain, value))
        if hits:
            return _masked(
                text, [(_origin(places, start), _origin(places, end)) for start, end in hits], mask
            )
    return text


def _resolved(
    text: str, pattern: re.Pattern[str], places: list[tuple[int, int]]
) -> tuple[str, list[tuple[int, int]]]:
    """The text with its escapes resolved once; `places` say where each stretch of it began at first."""
    pieces: list[str] = []
    moved = [(0, 0)]
    last = length = 0
    for found in pattern.finditer(text):
        instead = _meaning(found[0])
        pieces += (text[last : found.start()], instead)
        moved += (
            (length := length + found.start() - last, found.start()),
            (length := length + len(instead), found.end()),
        )
        last = found.end()
    steps = [(new, _origin(places, old)) for new, old in moved]
    return "".join([*pieces, text[last:]]), steps


def _origin(places: list[tuple[int, int]], at: int) -> int:
    new, old = places[bisect_right(places, (at, 1 << 60)) - 1]
    return old + at - new


def _meaning(piece: str) -> str:
    if piece[0] == "\x1b" or piece in {"=\n", "=\r\n"}:
        return ""
    if piece.startswith("&#"):
        codes = [
            int(one[1:], 16) if one[0] == "x" else int(one)
            for one in piece.replace("&#", "").split(";")
            if one
        ]
        return "".join(chr(code) if code < 0x110000 else "?" for code in codes)
    if piece.startswith("\\u"):
        return "".join(chr(int(one, 16)) for one in piece.split("\\u")[1:])
    return bytes.fromhex(re.sub(r"%|=|\\x", "", piece)).decode("utf-8", "replace")


def _dumped(text: str, data: Collection[bytes], mask: str) -> str:
    """Rows of hexadecimal bytes, as programs print files: where a value stands in them, their bytes go."""
    rows: list[re.Match[str]] = []
    hits: list[tuple[int, int]] = []
    for row in _ROWS.finditer(text):
        if rows and rows[-1].end() != row.start():
            hits += _hit_rows(rows, data)
            rows = []
        rows.append(row)
    hits += _hit_rows(rows, data)
    return _masked(text, hits, mask)


def _hit_rows(rows: list[re.Match[str]], data: Collection[bytes]) -> Iterator[tuple[int, int]]:
    """The rows with a value in them; the first group of a row may be its place in the file, or data."""
    for numbered in (True, False):
        starts = [(found.end() if numbered and (found := _OFFSET.match(row[0])) else 0) for row in rows]
        dumped, ends = b"", []
        for row, start in zip(rows, starts, strict=True):
            dumped += bytes.fromhex("".join(_GROUP.findall(_SHOWN.split(row[0][start:] + "\n")[0])))
            ends.append(len(dumped))
        for value in data:
            for at in _places(dumped, value):
                for number in range(bisect_right(ends, at), bisect_right(ends, at + len(value) - 1) + 1):
                    yield (
                        rows[number].start() + starts[number],
                        rows[number].start() + len(rows[number][0].rstrip("\n")),
                    )


def _places(data: bytes, value: bytes) -> Iterator[int]:
    at = data.find(value)
    while at >= 0:
        yield at
        at = data.find(value, at + 1)


def _encoded(text: str, data: Collection[bytes], mask: str) -> str:
    """What is in base64 twice, or there with something before it that is encoded as well."""
    return _BASE64.sub(lambda run: mask if _holds(run[0], data, 2) else run[0], text)


def _holds(run: str, data: Collection[bytes], depth: int) -> bool:
    """Whether a value is behind a run of base64, wherever in the run its coding begins."""
    whole = run.rstrip("=").replace("-", "+").replace("_", "/")
    for start in range(4):
        inner = _decoded(whole[start:])
        if any(value in inner for value in data):
            return True
        if (
            depth
            and inner.isascii()
            and any(_holds(one[0], data, depth - 1) for one in _BASE64.finditer(inner.decode()))
        ):
            return True
    return False


def _decoded(core: str) -> bytes:
    core = core[: len(core) - (len(core) % 4 == 1)]
    try:
        return base64.b64decode(core + "=" * (-len(core) % 4))
    except (binascii.Error, ValueError):
        return b""


def _found(text: str, value: str) -> Iterator[tuple[int, int]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))


def _masked(text: str, spans: Collection[tuple[int, int]], mask: str) -> str:
    pieces: list[str] = []
    last = 0
    for start, end in sorted(set(spans)):
        if end > last:
            pieces += (text[last : max(start, last)], mask if start >= last else "")
            last = end
    return "".join([*pieces, text[last:]])
