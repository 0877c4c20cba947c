"""What a provider said when it refused: its sentence, its own word for it, when to come back, how long its window is."""

import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes.models.retry import parse_reset, parse_span

LONGEST = 500
_RESETS = ("resets_at", "reset_at", "resetsat", "resettime", "reset_time", "quotaresettimestamp", "retry_after", "retryafter", "retrydelay")
_SPANS = ("resets_in_seconds", "retry_after_seconds", "reset_after")
_COME_BACK = re.compile(
    r"(?:try again|retry|available again|resets?|wait)[^.\d]{0,40}((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and )?)+)", re.IGNORECASE
)
_WINDOWS = (
    re.compile(r'"n_ctx"\s*:\s*(\d{3,})'),
    re.compile(
        r"(?:maximum|max)(?: allowed)? (?:context|prompt|input|sequence)[ _](?:length|window|size)\D{0,30}?(\d[\d,]{2,})", re.IGNORECASE
    ),
    re.compile(r"context (?:length|window|size)\D{0,40}?(\d[\d,]{2,})", re.IGNORECASE),
    re.compile(r"tokens? (?:>|exceeds?)\D{0,40}(\d[\d,]{2,})", re.IGNORECASE),
    re.compile(r"maximum number of (?:input )?tokens(?: allowed)?\D{0,6}(\d[\d,]{2,})", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """`message` is for a person, `code` the provider's own words for the kind, `whole` all of it in lower case, to be searched."""

    message: str = ""
    code: str = ""
    whole: str = ""
    tree: Any = None


def said(body: bytes) -> Said:
    """What an error body says; a page of HTML says nothing."""
    text = body.decode("utf-8", "replace").strip()
    try:
        tree: Any = json.loads(text)
    except ValueError:
        page = text.startswith("<")
        return Said(message="" if page else text[:LONGEST], whole="" if page else text.lower())
    return Said(message=_message(tree)[:LONGEST], code=_codes(tree), whole=text.replace("\\n", " ").lower(), tree=tree)


def reset_at(given: Said, headers: Mapping[str, str], now: float) -> float | None:
    """When to come back, in epoch seconds: from the headers (RFC 9110 and providers' own), the body's fields, or its sentence."""
    return _from_headers(headers, now) or _from_fields(given.tree, now) or _from_words(given.message, now)


def window_in(given: Said) -> int:
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
    for name in ("error", "errors", "message", "Message", "msg", "detail", "error_description", "reason"):
        if tree.get(name):
            sentence = _message(tree[name])
            return f"{sentence}: {_inner(raw)}" if raw and name == "message" else sentence
    return ""


def _inner(raw: Any) -> str:
    """What the provider behind a router said."""
    try:
        return _message(json.loads(raw)) if isinstance(raw, str) else _message(raw)
    except ValueError:
        return str(raw)[:LONGEST]


def _codes(tree: Any) -> str:
    found = (
        str(value)
        for name, value in _fields(tree)
        if name in {"code", "type", "status", "__type", "reason"} and isinstance(value, str | int)
    )
    return " ".join(found).lower()


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
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.replace(".", "", 1).isdigit():
        return now + float(milliseconds) / 1000
    given = headers.get("retry-after", "")
    if given.replace(".", "", 1).isdigit():
        return now + float(given)
    return _date(given) or parse_reset(headers.get("x-ratelimit-reset"), now)


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except ValueError:
        return None


def _from_fields(tree: Any, now: float) -> float | None:
    for name, value in _fields(tree):
        if name in _SPANS and isinstance(value, int | float):
            return now + value
        if name in _RESETS and (moment := parse_reset(value, now)):
            return moment
    return None


def _from_words(sentence: str, now: float) -> float | None:
    found = _COME_BACK.search(sentence)
    return parse_span(found[1], now) if found else None
