"""How long to wait before the next attempt: decorrelated jitter, or what the provider asked for."""

from collections.abc import Callable, Iterator

BASE, CAP = 0.5, 30.0


def delays(uniform: Callable[[float, float], float]) -> Iterator[float]:
    """Seconds before each next attempt, without end; `uniform(low, high)` is the source of randomness."""
    last = BASE
    while True:
        last = min(CAP, uniform(BASE, last * 3))
        yield last
