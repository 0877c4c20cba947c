"""Codings that hide words: base64, hexadecimal digits, percent codes, character codes; rot13 has its own
module.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from hermes.safety.text.code import CodeMap
from hermes.safety.text.prose import is_order, is_phrase
from hermes.safety.text.rotated import rotated
from hermes.safety.text.spans import TextSpan

_DIGITS: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,6}(?![\w+/=])")
_BASE64_LINE: Final = re.compile(r"[ \t>]{0,8}[A-Za-z0-9+/]{40,100}={0,2}\r?")
_BASE64_END: Final = re.compile(r"[ \t>]{0,8}[A-Za-z0-9+/]{1,100}={0,2}\r?")
_ROW: Final = re.compile(
    r"(?<![\w:.])(?:0x)?[0-9a-fA-F]{2,8}(?:[ :,;-]{1,2}(?:0x)?[0-9a-fA-F]{2,8}){7,}(?!\w)"
)
_NUMBER: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{2,8})")
_PIECE: Final = re.compile(r"(?<![^\s\"'<>()])[^\s\"'<>()%]*%[^\s\"'<>()]*")
_NEEDLESS: Final = re.compile(r"%(?:25)?(?:[46][1-9a-fA-F]|[57][0-9aA])")
_ENTITIES: Final = re.compile(r"(?:&#(?:x[0-9a-fA-F]{1,6}|[0-9]{1,7});[ ,.]{0,2}){6,}")
_ESCAPES: Final = re.compile(
    r"(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|[0-7]{3})[ ,.]{0,2}){6,}"
)
_POINTS: Final = re.compile(r"(?:U\+[0-9a-fA-F]{4,6}[ ,]{0,2}){6,}")
_PRINTABLE: Final = re.compile(r"(?:=[0-9A-F]{2}){6,}")
_ESCAPE: Final = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|u\{[0-9a-fA-F]{1,6}\}|([0-7]{3}))"
)
_SHOWN: Final = 80
_FULL_LINE: Final = 40
_FEWEST_CODES: Final = 6
_DEEP: Final = 2
_NEEDLESS_CODES: Final = frozenset({"percent codes", "character codes"})
_LONGER: Final = 6
_SHORTEST: Final = 8
_STRANGE: Final = 10
_BYTES: Final = 256
_BASES: Final = (
    (2, re.compile("[01]{8}")),
    (16, re.compile("[0-9a-fA-F]{2}")),
    (10, re.compile("[0-9]{2,3}")),
)
_HEXADECIMAL: Final = "hexadecimal digits"


def encoded(text: str, code: CodeMap) -> Iterator[TextSpan]:
    """The stretches of a text that say something to a reader once they are decoded; data and digests do not,
    nor does an example in code that says a few words.
    """
    for start, end, plain, how in _decoded(text):
        said = _said(plain, how, _DEEP)
        if said and not (code.has_line(start) and len(said.split()) < _LONGER):
            yield TextSpan(
                start=start,
                end=end,
                kind="encoded",
                rule=how.replace(" ", "-"),
                why=f"behind {how} stand words: “{' '.join(said.split())[:_SHOWN]}”",
            )


def _said(plain: str, how: str, depth: int) -> str:
    """The words behind a piece that was decoded, however often they were encoded; "" when there are none."""
    if is_order(plain) or (how in _NEEDLESS_CODES and is_phrase(plain)):
        return plain
    deeper = _decoded(plain) if depth else ()
    return next(filter(None, (_said(inner, way, depth - 1) for _, _, inner, way in deeper)), "")


def _decoded(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, what stands behind it and the coding of each piece that can be decoded to text."""
    for start, end, digits in _runs_of_digits(text):
        yield from ((start, end, _text_of(data), how) for how, data in decodings(digits))
    for how, mark, pattern, decode in _CODINGS:
        if mark in text:
            for run in pattern.finditer(text):
                yield run.start(), run.end(), decode(run[0]), how
    yield from ((start, end, plain, "rot13") for start, end, plain in rotated(text))


def _runs_of_digits(text: str) -> Iterator[tuple[int, int, str]]:
    """Long digits of base64 or hexadecimal; lines of them that follow each other are one."""
    done = 0
    for start, end, digits in _base64_blocks(text):
        yield from (
            (run.start(), run.end(), run[0]) for run in _DIGITS.finditer(text, done, max(done, start))
        )
        yield start, end, digits
        done = end
    yield from ((run.start(), run.end(), run[0]) for run in _DIGITS.finditer(text, done))


def _base64_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Full lines of digits, with the shorter line that follows them and without it: that may be a word."""
    at = first = 0
    rows: list[str] = []
    for line in [*text.split("\n"), ""]:
        ended = bool(rows) and rows[-1].endswith("=")
        full = not ended and len(line) >= _FULL_LINE and _BASE64_LINE.fullmatch(line)
        if full:
            first = first if rows else at
            rows.append(line.strip(" \t>\r"))
        elif rows:
            digits = "".join(rows)
            if not ended and _BASE64_END.fullmatch(line):
                yield first, at + len(line), digits + line.strip(" \t>\r")
            yield first, at - 1, digits
            rows = []
        at += len(line) + 1


def decodings(digits: str) -> Iterator[tuple[str, bytes]]:
    """Each coding whose digits these may be, however few, with the bytes that they stand for."""
    for how, decode in ((_HEXADECIMAL, _unhex), ("base64", _unbase64), ("base32", _unbase32)):
        with suppress(binascii.Error, ValueError):
            yield how, decode(digits)


def unescaped(text: str) -> str:
    """A text with each character that is escaped by its number, hexadecimal or octal, as it is read."""
    return _ESCAPE.sub(
        lambda one: _char(int(one[1], 8) if one[1] else int(one[0].strip("\\xuU{}"), 16)), text
    )


def _unhex(digits: str) -> bytes:
    return bytes.fromhex(digits.removeprefix("0x"))


def _unbase64(digits: str) -> bytes:
    core = digits.rstrip("=").replace("-", "+").replace("_", "/")
    core = core[: len(core) - (len(core) % 4 == 1)]
    return base64.b64decode(core + "=" * (-len(core) % 4))


def _unbase32(digits: str) -> bytes:
    core = digits.rstrip("=")
    return base64.b32decode(core + "=" * (-len(core) % 8))


def _of_row(row: str) -> str:
    """What bytes written as binary, hexadecimal or decimal numbers say."""
    numbers = _NUMBER.findall(row)
    for base, form in _BASES:
        if all(form.fullmatch(number) for number in numbers):
            codes = [int(number, base) for number in numbers]
            if max(codes) < _BYTES and (said := _text_of(bytes(codes))):
                return said
    return ""


def _of_percents(piece: str) -> str:
    few = len(_NEEDLESS.findall(piece)) < _FEWEST_CODES
    return "" if few else unquote(piece.replace("+", " "))


def _of_points(run: str) -> str:
    return _ascii_of("".join(_char(int(code, 16)) for code in re.findall(r"\+([0-9a-fA-F]+)", run)))


def _of_printable(run: str) -> str:
    return _text_of(bytes.fromhex(run.replace("=", "")))


def _of_entities(run: str) -> str:
    return _ascii_of(html.unescape(run))


def _of_escapes(run: str) -> str:
    return _ascii_of(unescaped(run))


def _text_of(data: bytes) -> str:
    """The data as text; "" where more of it than a byte here and there is no character that text has."""
    if len(data) < _SHORTEST:
        return ""
    wide = data[1:64:2].count(0) > len(data[:64]) // 3
    text = data.decode("utf-16-le" if wide else "utf-8", "replace")
    strange = sum(not (one.isprintable() or one in "\n\r\t") or one == "\ufffd" for one in text)
    return text if strange * _STRANGE <= len(text) else ""


def _ascii_of(text: str) -> str:
    """The text where its letters are plain ones, which no coding is needed for."""
    letters = [one for one in text if one.isalpha()]
    return text if sum(one.isascii() for one in letters) * 2 > len(letters) else ""


def _char(code: int) -> str:
    return chr(code) if code < 0x110000 else ""


_CODINGS: Final = (
    ("numbers", "", _ROW, _of_row),
    ("percent codes", "%", _PIECE, _of_percents),
    ("character codes", "U+", _POINTS, _of_points),
    ("character codes", "&#", _ENTITIES, _of_entities),
    ("character codes", "\\", _ESCAPES, _of_escapes),
    ("character codes", "=", _PRINTABLE, _of_printable),
)
"""Coding, what stands in every text with it, what finds it, and what it says."""
