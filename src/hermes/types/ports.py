"""The ways out of the harness: clock and randomness, handed in by the runtime so that a session can be replayed."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """`now` is in epoch seconds, `monotonic` in seconds from anywhere; `token` gives a fresh short id; `uniform(low, high)`."""

    now: Callable[[], float]
    monotonic: Callable[[], float]
    token: Callable[[], str]
    uniform: Callable[[float, float], float]
