"""What a provider said when it refused: its sentence, its own word for it, when to come back, how long its
window is.
"""

import datetime as dt
import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_MILLISECONDS_FROM = 100_000_000_000
_EPOCH_FROM = 1_000_000_000
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]+)?")
_SPAN = re.compile(
    r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])",
    re.IGNORECASE,
)


def parse_reset(value: Any, now: float) -> float | None:
    """A moment in epoch seconds out of what providers write; None when it cannot be read.

    Epoch seconds, epoch milliseconds, seconds from now (small numbers), ISO 8601, or a span such as `34s` and
    `1h2m`.
    """
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number >= _MILLISECONDS_FROM:
            return number / 1000
        return number if number >= _EPOCH_FROM else now + number
    return _iso(text) or parse_span(text, now)


def parse_span(text: str, now: float) -> float | None:
    """`now` and all the spans of time in `text` added up; None when there is none."""
    found = _SPAN.findall(text)
    if not found:
        return None
    return now + sum(
        float(number) * _UNITS["ms" if unit.lower().startswith(("ms", "milli")) else unit[0].lower()]
        for number, unit in found
    )


def _iso(text: str) -> float | None:
    try:
        moment = dt.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


LONGEST = 500
_RESETS = (
    "resets_at",
    "reset_at",
    "resetsat",
    "resettime",
    "reset_time",
    "quotaresettimestamp",
    "retry_after",
    "retryafter",
    "retrydelay",
    "x-ratelimit-reset",
)
_SPANS = ("resets_in_seconds", "retry_after_seconds", "reset_after", "estimated_time")
_HEADERS = ("x-ratelimit-reset", "anthropic-ratelimit-unified-reset")
_LATEST = 400 * 86_400.0
"""A time that is further away than this, in seconds, is none."""
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?: at |[ T])(\d\d:\d\d(?::\d\d)?)")
_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]+)?")
_COME_BACK = re.compile(
    r"(?:try again|retry|available again|resets?|wait)[^.\d]{0,40}((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and"
    r" )?)+)",
    re.IGNORECASE,
)
_WINDOWS = (
    re.compile(r"n_ctx\W{1,6}(\d{3,9})"),
    re.compile(
        r"(?:while limit is|exceeds the limit of|model token limit:|must be <=|context limit: \d+ \+ \d+"
        r" >|must have less than"
        r"|input length should be \[\d+,) (\d[\d,]{2,9})"
    ),
    re.compile(r"with (\d[\d,]{2,9}) maximum context"),
    re.compile(
        r"(?:maximum|max)(?: allowed)? (?:context|prompt|input|sequence|model)["
        r" _](?:length|window|size)\D{0,30}?(\d[\d,]{2,9})",
        re.IGNORECASE,
    ),
    re.compile(r"context (?:length|window|size)[^\d(]{0,40}?(\d[\d,]{2,9})", re.IGNORECASE),
    re.compile(r"tokens? (?:>|exceeds?)\D{0,40}(\d[\d,]{2,9})", re.IGNORECASE),
    re.compile(r"maximum number of (?:input )?tokens(?: allowed)?\D{0,6}(\d[\d,]{2,9})", re.IGNORECASE),
)


class ErrorBody(Struct, frozen=True, kw_only=True):
    """`message` is for a person, `code` the provider's own words for the kind, `whole` all of it in lower
    case, to be searched.
    """

    message: str = ""
    code: str = ""
    whole: str = ""
    tree: Any = None


def parse_error_body(body: bytes, kind: str = "") -> ErrorBody:
    """What an error body says; a page of HTML says nothing. `kind` is the word for it that a header gave."""
    text = body.decode("utf-8", "replace").strip()
    try:
        tree: Any = json.loads(text)
        message = one_line(_message(tree))
        codes = (
            str(value).lower()
            for name, value in _fields(tree)
            if name in {"code", "type", "status", "__type", "reason"} and isinstance(value, str | int)
        )
        code = " ".join((kind.lower(), *codes)).strip()
    except (ValueError, RecursionError):
        words = "" if text.startswith("<") else text
        return ErrorBody(message=one_line(words), code=kind.lower(), whole=f"{kind} {words}".lower())
    return ErrorBody(
        message=message, code=code, whole=f"{kind} {text}".replace("\\n", " ").lower(), tree=tree
    )


def one_line(text: str) -> str:
    """Words for a screen: one line of LONGEST letters at most, without control characters."""
    return " ".join(
        "".join(letter if letter.isprintable() else " " for letter in text[: 4 * LONGEST]).split()
    )[:LONGEST]


def reset_at(given: ErrorBody, headers: Mapping[str, str], now: float) -> float | None:
    """When to come back, in epoch seconds: from the headers (RFC 9110 and providers' own), the body's fields,
    or its sentence.
    """
    moments = (_from_headers(headers, now), _from_fields(given.tree, now), _from_words(given.message, now))
    return next((moment for moment in moments if moment is not None and abs(moment - now) < _LATEST), None)


def window_in(given: ErrorBody) -> int:
    """The model's window in tokens, where the error states it; else 0."""
    for pattern in _WINDOWS:
        found = pattern.search(given.whole)
        if found:
            return int(found[1].replace(",", ""))
    return 0


def _message(tree: Any) -> str:
    """The sentence in the usual places: error.message, error, message, detail, errors[0]."""
    if isinstance(tree, list):
        return "; ".join(filter(None, (_message(one) for one in tree[:3])))
    if not isinstance(tree, Mapping):
        return "" if tree is None else str(tree)
    raw = tree.get("metadata", {}).get("raw") if isinstance(tree.get("metadata"), Mapping) else None
    try:  # what the provider behind a router said
        behind = _message(json.loads(raw) if isinstance(raw, str) else raw)
    except ValueError:
        behind = str(raw)[:LONGEST]
    for name in ("error", "errors", "message", "Message", "msg", "detail", "error_description", "reason"):
        if tree.get(name):
            sentence = _message(tree[name])
            return f"{sentence}: {behind}" if raw and name == "message" else sentence
    return ""


def _fields(tree: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > 6:
        return
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield str(name).lower(), value
            yield from _fields(value, depth + 1)
    elif isinstance(tree, list):
        for one in tree:
            yield from _fields(one, depth + 1)


def _from_headers(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds, seconds = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if _SECONDS.fullmatch(milliseconds):
        return now + float(milliseconds) / 1000
    if _SECONDS.fullmatch(seconds):
        return now + float(seconds)
    found = (parse_reset(headers[name], now) for name in _HEADERS if name in headers)
    return _date(seconds) or next((moment for moment in found if moment is not None), None)


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except (
        ValueError,
        OverflowError,
        IndexError,
    ):  # the standard library's parser raises all of them for odd text
        return None


def _from_fields(tree: Any, now: float) -> float | None:
    for name, value in _fields(tree):
        if name in _SPANS and isinstance(value, int | float):
            return parse_reset(f"{value} s", now)
        if name in _RESETS and (moment := parse_reset(value, now)):
            return moment
    return None


def _from_words(sentence: str, now: float) -> float | None:
    """Out of "try again in 5 minutes" or a date; without a zone it is taken for UTC."""
    if found := _COME_BACK.search(sentence):
        return parse_span(found[1], now)
    date = _DATE.search(sentence)
    return parse_reset(f"{date[1]}T{date[2]}", now) if date else None
