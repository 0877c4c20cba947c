"""The ways out of the harness: clock, randomness and ids, handed in by the runtime so that a session can be
replayed.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct


class Ports(Struct, frozen=True, kw_only=True):
    """`now` is in epoch seconds, `monotonic` in seconds from anywhere; `sleep` waits for seconds.

    `token` gives a fresh short id, `uniform(low, high)` a number, `pid` the process's id.
    """

    now: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    token: Callable[[], str]
    uniform: Callable[[float, float], float]
    pid: Callable[[], int]
