"""What to do about a failed request: a pure function of the failure's flags and of what is left to try."""

from dataclasses import dataclass

from hermes.types.error import Failure
from hermes.types.event import Action

LONGEST_WAIT = 600.0
_SLOW = frozenset({"timeout", "rate_limit"})
"""Faults where another endpoint, if there is one, is a better answer than waiting for this one."""
_LARGER_PART = {"large_images": "images", "tool_images": "images"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """What is left to try: `failures` so far at this endpoint, of `retries` allowed after the first attempt; `left` in seconds.

    `others` says that another credential may be tried, `onward` that there is another endpoint, and `larger` that it has more room.
    `refused` is what is left out already.
    """

    failures: int
    retries: int
    pause: float
    left: float
    now: float
    others: bool = False
    onward: bool = False
    larger: bool = False
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Remedy:
    """What follows, after how many seconds, and without which part of the request."""

    action: Action
    delay: float = 0.0
    part: str = ""


def remedy(failure: Failure, chances: Chances) -> Remedy:
    """The first that applies: leave out what was refused, the next key, a pause, the next endpoint, the end."""
    part = _part(failure.leave_out, chances.refused)
    if part:
        return Remedy("leave_out", part=part)
    if failure.rotate and chances.others and not failure.shared:
        return Remedy("next_credential")
    onward = chances.onward and (failure.fall_back or (failure.compress and chances.larger))
    delay = _delay(failure, chances)
    may_wait = failure.retryable and chances.failures <= chances.retries and delay < min(chances.left, LONGEST_WAIT)
    if may_wait and not (onward and failure.reason in _SLOW):
        return Remedy("wait", delay)
    return Remedy("next_endpoint") if onward and chances.left > 0 else Remedy("give_up")


def _part(refused_now: str, refused_before: frozenset[str]) -> str:
    """What to leave out: what was refused, or, where that did not help, the next larger part."""
    part = refused_now
    while part and part in refused_before:
        part = _LARGER_PART.get(part, "")
    return part


def _delay(failure: Failure, chances: Chances) -> float:
    """Until the provider's own time, where it named one that is not absurd for a fault of moments; else the jittered pause."""
    if failure.reset_at is None:
        return chances.pause
    return max(0.0, failure.reset_at - chances.now)
