"""From an exception to a Failure: ordered rules, one place."""

import email.utils
import json
from collections.abc import Mapping
from typing import Any

import httpx2

from hermes.models.transports.base import CutShortError, WireError
from hermes.types.error import Failure, Reason

_OVERFLOW = (
    "context length",
    "context window",
    "context size",
    "maximum context",
    "too many tokens",
    "prompt is too long",
    "exceeds the available context",
)
_BILLING = ("insufficient_quota", "insufficient credit", "billing", "payment required", "out of credits")
_RETRYABLE: frozenset[Reason] = frozenset({"rate_limit", "overloaded", "server_error", "timeout", "connection"})


class StatusError(Exception):
    """The server answered with an HTTP error."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body


class StalledError(Exception):
    """No byte came for longer than is allowed."""


def classify(error: Exception, address: str, *, now: float) -> Failure:
    """What went wrong and what may be done about it; `now` is in epoch seconds, for Retry-After."""
    match error:
        case StatusError():
            reason = _by_status(error.status, _message(error.body))
            said = _message(error.body) or f"HTTP {error.status}"
            return _failure(reason, said, address, status=error.status, reset_at=_reset_at(error.headers, now))
        case WireError():
            reason = _by_status(error.status, str(error)) if error.status else _by_text(str(error))
            return _failure(reason, str(error), address, status=error.status)
        case StalledError() | TimeoutError() | httpx2.TimeoutException():
            return _failure("timeout", str(error) or "the server did not answer in time", address)
        case CutShortError() | httpx2.TransportError():
            return _failure("connection", _transport_words(error), address)
        case _:
            return _failure("unknown", f"{type(error).__name__}: {error}", address)


def _failure(reason: Reason, message: str, address: str, *, status: int | None = None, reset_at: float | None = None) -> Failure:
    return Failure(
        reason=reason,
        message=message,
        status=status,
        address=address,
        retryable=reason in _RETRYABLE,
        compress=reason in {"context_overflow", "payload_too_large"},
        rotate=reason in {"auth", "billing", "rate_limit"},
        fall_back=reason not in {"context_overflow", "format_error"},
        reset_at=reset_at,
    )


_STATUSES: Mapping[int, Reason] = {
    401: "auth",
    402: "billing",
    403: "auth",
    404: "model_not_found",
    408: "timeout",
    413: "payload_too_large",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}


def _by_status(status: int, text: str) -> Reason:
    lower = text.lower()
    if any(words in lower for words in _OVERFLOW):
        return "context_overflow"
    if any(words in lower for words in _BILLING):
        return "billing"
    return _STATUSES.get(status, "server_error" if status >= 500 else "format_error")


def _by_text(text: str) -> Reason:
    """An error that came inside a good answer, with no status to go by."""
    lower = text.lower()
    if any(words in lower for words in _OVERFLOW):
        return "context_overflow"
    if "overloaded" in lower or "capacity" in lower:
        return "overloaded"
    if "rate limit" in lower or "too many requests" in lower:
        return "rate_limit"
    return "server_error"


def _transport_words(error: Exception) -> str:
    if isinstance(error, httpx2.ConnectError):
        return "the server cannot be reached"
    return str(error) or type(error).__name__


def _message(body: bytes) -> str:
    """The provider's own sentence out of an error body."""
    try:
        tree: Any = json.loads(body)
    except ValueError:
        text = body.decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text[:300]
    if isinstance(tree, list) and tree:
        tree = tree[0]
    inner = tree.get("error", tree) if isinstance(tree, dict) else tree
    if isinstance(inner, dict):
        inner = inner.get("message") or inner.get("detail") or ""
    return str(inner)[:500]


def _reset_at(headers: Mapping[str, str], now: float) -> float | None:
    """When the provider says to come back: Retry-After in seconds or as a date (RFC 9110), or its millisecond form."""
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.replace(".", "", 1).isdigit():
        return now + float(milliseconds) / 1000
    given = headers.get("retry-after", "")
    if given.replace(".", "", 1).isdigit():
        return now + float(given)
    try:
        return email.utils.parsedate_to_datetime(given).timestamp() if given else None
    except ValueError:
        return None
