"""How long to wait before the next attempt: decorrelated jitter, or until the time that the provider named."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import Any

BASE, CAP = 0.5, 30.0
_MILLISECONDS_FROM = 100_000_000_000
_EPOCH_FROM = 1_000_000_000
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]+)?")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])", re.IGNORECASE)


def delays(uniform: Callable[[float, float], float]) -> Iterator[float]:
    """Seconds before each next attempt, without end; `uniform(low, high)` is the source of randomness."""
    last = BASE
    while True:
        last = min(CAP, uniform(BASE, last * 3))
        yield last


def parse_reset(value: Any, now: float) -> float | None:
    """A moment in epoch seconds out of what providers write; None when it cannot be read.

    Epoch seconds, epoch milliseconds, seconds from now (small numbers), ISO 8601, or a span such as `34s` and `1h2m`.
    """
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        return _moment(float(text), now)
    return _iso(text) or parse_span(text, now)


def parse_span(text: str, now: float) -> float | None:
    """`now` and all the spans of time in `text` added up; None when there is none."""
    found = _SPAN.findall(text)
    if not found:
        return None
    return now + sum(
        float(number) * _UNITS["ms" if unit.lower().startswith(("ms", "milli")) else unit[0].lower()] for number, unit in found
    )


def _moment(number: float, now: float) -> float:
    if number >= _MILLISECONDS_FROM:
        return number / 1000
    return number if number >= _EPOCH_FROM else now + number


def _iso(text: str) -> float | None:
    try:
        moment = dt.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
