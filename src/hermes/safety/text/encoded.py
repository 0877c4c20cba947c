"""Pieces of a text that are words once they are decoded."""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

_LONG_WORD: Final = re.compile(r"\S{16,}")
_LONG_LINES: Final = re.compile(r"\S{40}\r?\n\S")
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/=])")
_WRAPPED: Final = re.compile(
    r"(?<![\w+/=-])(?:[A-Za-z0-9+/]{40,80}\r?\n){1,200}[A-Za-z0-9+/]{1,80}={0,2}(?![\w+/=])"
)
_HEX: Final = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}){10,}(?!\w)")
_SPACED_HEX: Final = re.compile(r"\b[0-9a-fA-F]{2}[ :](?:[0-9a-fA-F]{2}[ :]){9,2000}[0-9a-fA-F]{2}\b")
_PERCENT: Final = re.compile(
    r"(?:%[0-9a-fA-F]{2}|[A-Za-z0-9+_.-]{1,12}(?=%)){6,2000}(?:[A-Za-z0-9+_.-]{1,80})?"
)
_ENTITIES: Final = re.compile(r"(?:&#(?:x[0-9a-fA-F]{1,6}|[0-9]{1,7});[ ]?){5,2000}")
_ESCAPES: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}){5,2000}")
_LONGEST: Final = 4_000
_SHORTEST: Final = 8
_RUNS: Final = re.compile(
    r"(?:curl|wget|iwr|fetch)\b[^\n|]{1,300}\|\s{0,4}(?:sudo\s)?(?:ba|z|da|k)?sh\b|\brm\s+-\w*r|\bbash\s+-i\b|/dev/tcp/|\bnc\s+-\w*e|\beval\b.{1,200}\b(?:curl|base64)"
    r"|\b(?:run|execute|launch|send|upload|delete)\b.{1,80}(?:\b(?:curl|wget|bash|powershell)\b|\.sh\b|https?://)"
    r"|\b(?:curl|wget)\b.{1,200}\b(?:secret|token|password|env|id_rsa)",
    re.IGNORECASE,
)


class Decoded(Struct, frozen=True):
    """What stands behind a piece of a text; `runs` says that it is a command which downloads and runs,
    deletes or connects.
    """

    start: int
    end: int
    text: str
    how: str

    @property
    def runs(self) -> bool:
        """Whether it is a command to run."""
        return _RUNS.search(self.text) is not None


def decoded(folded: str, text: str) -> Iterator[Decoded]:
    """The pieces of `text` that are words once decoded; `folded` is it in lower case."""
    for word in _LONG_WORD.finditer(text):
        yield from _digits(text, word.start(), word.end())
    if _LONG_LINES.search(text):
        for run in _WRAPPED.finditer(text):
            plain = _words(_unbase64("".join(run[0].split())[:_LONGEST]))
            if plain:
                yield Decoded(run.start(), run.end(), plain, "base64")
    yield from _hexadecimal(_SPACED_HEX.finditer(text))
    if "%" in folded:
        yield from _simple(_PERCENT, text, lambda piece: unquote(piece.replace("+", " ")), "percent codes")
    if "&#" in folded:
        yield from _simple(_ENTITIES, text, html.unescape, "character codes")
    if "\\" in folded:
        yield from _simple(_ESCAPES, text, _unescaped, "character codes")


def _digits(text: str, start: int, end: int) -> Iterator[Decoded]:
    """What stands behind the digits of a word that is long enough for them."""
    for run in _BASE64.finditer(text, start, end):
        plain = _words(_unbase64(run[0][:_LONGEST]))
        if plain:
            yield Decoded(run.start(), run.end(), plain, "base64")
    yield from _hexadecimal(_HEX.finditer(text, start, end))


def _hexadecimal(runs: Iterator[re.Match[str]]) -> Iterator[Decoded]:
    for run in runs:
        digits = re.sub(r"[ :]|^0x", "", run[0])[:_LONGEST]
        plain = _words(bytes.fromhex(digits[: len(digits) // 2 * 2]))
        if plain:
            yield Decoded(run.start(), run.end(), plain, "hexadecimal digits")


def _simple(pattern: re.Pattern[str], text: str, decode: Callable[[str], str], how: str) -> Iterator[Decoded]:
    for run in pattern.finditer(text):
        plain = decode(run[0][:_LONGEST])
        if plain != run[0][:_LONGEST] and len(plain) >= _SHORTEST:
            yield Decoded(run.start(), run.end(), plain, how)


def _unbase64(piece: str) -> bytes:
    core = piece.rstrip("=").replace("-", "+").replace("_", "/")
    core = core[: len(core) - (len(core) % 4 == 1)]
    try:
        return base64.b64decode(core + "=" * (-len(core) % 4))
    except (binascii.Error, ValueError):
        return b""


def _words(data: bytes) -> str:
    """The data as text, if it is words: letters and spaces, nothing that is no character."""
    if len(data) < _SHORTEST:
        return ""
    try:
        text = data.decode("utf-16-le" if data[1::2].count(0) > len(data) // 3 else "utf-8")
    except UnicodeDecodeError:
        return ""
    plain = all(letter.isprintable() or letter in "\n\r\t" for letter in text)
    return (
        text
        if plain and sum(letter.isalpha() or letter == " " for letter in text) * 3 > len(text) * 2
        else ""
    )


def _unescaped(piece: str) -> str:
    return re.sub(r"\\[ux]([0-9a-fA-F]{2,4})", lambda one: chr(int(one[1], 16)), piece)
