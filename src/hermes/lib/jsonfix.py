"""JSON that a model wrote: read it, mend what is unambiguous, say what is wrong with the rest."""

import json
import re
from math import isinf
from typing import Any, NoReturn

import msgspec
from msgspec import Struct, field

from hermes.lib.codec import mended

_STRING = r'"(?:[^"\\]|\\.)*"'
_TRAILING_COMMA = re.compile(rf"(?s)({_STRING}\s*|[\w}}\]]\s*),(?=\s*[}}\]])|{_STRING}")
_TOKEN = re.compile(rf'(?s){_STRING}|"(?:[^"\\]|\\.)*\\?\Z|[{{}}\[\]]|[^"{{}}\[\]]+')
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_CLOSERS = {"{": "}", "[": "]"}


class Parsed(Struct, frozen=True, kw_only=True):
    """An object, whether the text had to be mended for it, and a sentence when it may not be used.

    With a `fault` the value is only what was probably meant: good for showing, never for running.
    """

    value: dict[str, Any] = field(default_factory=dict)
    repaired: bool = False
    fault: str = ""


def parse_arguments(text: str) -> Parsed:
    """The arguments of a tool call; what can be read in two ways is a fault (invariant 22).

    Raw control characters in strings and trailing commas are mended. What is cut, closed too often or wrongly
    escaped is guessed at for the record, and is a fault.
    """
    if not text.strip():
        return Parsed()
    try:
        value, repaired = msgspec.json.decode(text), False
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        try:
            value, repaired = _mended(text), True
        except (ValueError, RecursionError) as error:
            return Parsed(value=_guessed(text), repaired=True, fault=_fault(f"not valid JSON ({error})"))
    if isinstance(value, str):
        inner = parse_arguments(value)  # an object wrapped in a string
        return Parsed(value=inner.value, repaired=True, fault=inner.fault)
    if value is None:
        return Parsed(repaired=True)
    if not isinstance(value, dict):
        return Parsed(fault=_fault("JSON but not an object"))
    return Parsed(value=value, repaired=repaired)


def _fault(what: str) -> str:
    return f"The arguments are {what}, so the call was not run. Make it again with a JSON object."


def _mended(text: str) -> Any:
    """The value of JSON that may hold raw control characters in its strings and commas before a closing
    bracket.
    """
    try:
        return _read(text)
    except ValueError as first:
        without = _TRAILING_COMMA.sub(lambda match: match[1] or match[0], text)
        if without == text:
            raise
        try:
            return _read(without)
        except ValueError:
            raise first from None  # its position is that of the text which the model wrote


def _read(text: str) -> Any:
    return mended(json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite))


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _guessed(text: str) -> dict[str, Any]:
    """What was probably meant; nothing when even that is no object."""
    try:
        value = _mended(_closed(text))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _closed(text: str) -> str:
    """The first structure in the text with what is open closed, closers without an opener dropped, wrong
    escapes escaped.
    """
    out: list[str] = []
    open_ones: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSERS:
            open_ones.append(_CLOSERS[token])
        elif token in {"}", "]"}:
            if not open_ones or open_ones[-1] != token:
                continue
            open_ones.pop()
        elif token[0] == '"':
            token = _whole(token)
        out.append(token)
        if not open_ones and token.strip():
            break
    tail = "".join(out).rstrip()
    return _ended(tail) + "".join(reversed(open_ones))


def _whole(string: str) -> str:
    if len(string) == 1 or not re.fullmatch(rf"(?s){_STRING}", string):
        string = (string.removesuffix("\\")) + '"'
    return _BAD_ESCAPE.sub(lambda match: match[0] if match[1] else r"\\", string)


def _ended(text: str) -> str:
    return text[:-1] if text.endswith(",") else text + "null" if text.endswith(":") else text
