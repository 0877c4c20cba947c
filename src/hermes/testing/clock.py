"""A clock that stands still until a test moves it."""

import itertools

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from hermes.types.ports import Ports


class VirtualClock:
    """Time that passes by `advance` alone; `ports` gives it to a runtime. For one event loop.

    `now` begins at epoch second `start`.
    """

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._start = start
        self._passed = 0.0
        self._sleepers: dict[int, tuple[float, anyio.Event]] = {}
        self._numbers = itertools.count()

    def now(self) -> float:
        """Epoch seconds."""
        return self._start + self._passed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds were passed over."""
        number, event = next(self._numbers), anyio.Event()
        self._sleepers[number] = (self._passed + seconds, event)
        try:
            if seconds > 0:
                await event.wait()
            else:
                await anyio.lowlevel.checkpoint()
        finally:
            del self._sleepers[number]

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake who has slept long enough."""
        self._passed += seconds
        for until, event in self._sleepers.values():
            if until <= self._passed:
                event.set()

    @property
    def sleepers(self) -> tuple[float, ...]:
        """How many seconds each sleeper still has, the shortest first."""
        return tuple(sorted(until - self._passed for until, _ in self._sleepers.values()))

    def ports(self, ports: Ports) -> Ports:
        """These ports with this clock."""
        return replace(ports, now=self.now, monotonic=self.monotonic, sleep=self.sleep)
