"""What to do about a failed request: a pure function of the failure's flags and of what is left to try."""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from hermes.types.error import Failure, Reason
from hermes.types.event import Action

LONGEST_WAIT = 600.0
BASE, CAP = 5.0, 120.0
_SLOW = frozenset({"timeout", "rate_limit"})
"""Faults where another endpoint, if there is one, is a better answer than waiting for this one."""
_MOST_RETRIES: Mapping[Reason, int] = {"empty_reply": 1, "connection_refused": 2}
"""Faults that waiting does not mend: a model that says nothing, a server that nobody has started."""
_AT_ONCE = frozenset({"empty_reply"})
_SHORT_PAUSES: Mapping[Reason, int] = {"connection": 1, "cut_short": 1, "connection_refused": 2}
"""Faults that are over in an instant (a server that restarts, an idle connection that a proxy closed) and
come from nobody who is overloaded, with how many of the first tries again come after short pauses.
"""
FIRST_RETRY = 0.5
_LARGER_PART = {"large_images": "images", "tool_images": "images"}


class RecoveryContext(Struct, frozen=True, kw_only=True):
    """What is left to try: `failures` so far at this endpoint, of `retries` allowed after the first attempt;
    `left` in seconds. `pause` is what comes next of the pauses that begin with 5 s; for faults of moments it
    begins with `first_retry` instead.

    `others` says that another credential may be tried, `next_available` that there is another endpoint, and
    `larger` that it has more room. `refused` is what is left out already.
    """

    failures: int
    retries: int
    pause: float
    left: float
    now: float
    first_retry: float = FIRST_RETRY
    others: bool = False
    next_available: bool = False
    larger: bool = False
    refused: frozenset[str] = frozenset()


class RecoveryAction(Struct, frozen=True):
    """What follows, after how many seconds, and without which part of the request."""

    action: Action
    delay: float = 0.0
    part: str = ""


def choose_recovery(failure: Failure, chances: RecoveryContext) -> RecoveryAction:
    """The first that applies: leave out what was refused, the next key, a pause, the next endpoint, the
    end.
    """
    part = _part(failure.leave_out, chances.refused)
    if part:
        return RecoveryAction("leave_out", part=part)
    if failure.rotate and chances.others and not failure.shared:
        return RecoveryAction("next_credential")
    next_available = chances.next_available and (failure.fall_back or (failure.compress and chances.larger))
    delay = _delay(failure, chances)
    retries = retries_after(failure.reason, chances.retries)
    may_wait = failure.retryable and chances.failures <= retries and delay < min(chances.left, LONGEST_WAIT)
    if may_wait and not (next_available and failure.reason in _SLOW):
        return RecoveryAction("wait", delay)
    return (
        RecoveryAction("next_endpoint") if next_available and chances.left > 0 else RecoveryAction("give_up")
    )


def retries_after(reason: Reason, retries: int) -> int:
    """How many attempts may follow the first, of `retries` that are set, after a failure of this kind."""
    return min(retries, _MOST_RETRIES.get(reason, retries))


def _part(refused_now: str, refused_before: frozenset[str]) -> str:
    """What to leave out: what was refused, or, where that did not help, the next larger part."""
    part = refused_now
    while part and part in refused_before:
        part = _LARGER_PART.get(part, "")
    return part


def _delay(failure: Failure, chances: RecoveryContext) -> float:
    """Until the provider's own time, where it named one that is not absurd for a fault of moments; else the
    jittered pause.
    """
    if failure.reason in _AT_ONCE:
        return 0.0
    if failure.reset_at is None:
        short = chances.failures <= _SHORT_PAUSES.get(failure.reason, 0)
        return chances.pause * chances.first_retry / BASE if short else chances.pause
    return max(0.0, failure.reset_at - chances.now)


def delays(uniform: Callable[[float, float], float]) -> Iterator[float]:
    """Seconds before each next attempt, without end: 5 s, doubled up to 120 s, and up to half of it more.

    `uniform(low, high)` is the source of randomness; each reply draws its own, so sessions that failed
    together do not come back together.
    """
    pause = BASE
    while True:
        yield uniform(pause, 1.5 * pause)
        pause = min(CAP, 2 * pause)
