"""A circuit breaker for each endpoint: after failures in a row it is passed over for a while, then one request may try it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hermes.types.error import Reason
from hermes.types.request import Endpoint

FAILURES, OPEN_SECONDS = 5, 30.0
COUNTED: frozenset[Reason] = frozenset({"overloaded", "server_error", "timeout", "connection", "certificate", "bad_reply"})


@dataclass(slots=True)
class _State:
    failures: int = 0
    until: float = 0.0


@dataclass(slots=True)
class Breakers:
    """The breakers of one runtime, shared by its sessions; `monotonic` is in seconds."""

    monotonic: Callable[[], float]
    _states: dict[tuple[str, str], _State] = field(default_factory=dict)

    def closed(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint may be tried; once its time is over, the first to ask is let through and the others wait for its result."""
        state = self._states.get(_key(endpoint))
        if state is None or state.failures < FAILURES:
            return True
        now = self.monotonic()
        if now < state.until:
            return False
        state.until = now + OPEN_SECONDS
        return True

    def worked(self, endpoint: Endpoint) -> None:
        """A request went well."""
        self._states.pop(_key(endpoint), None)

    def failed(self, endpoint: Endpoint, reason: Reason) -> None:
        """A request failed; only faults of the endpoint count, never those of a request or a key."""
        if reason not in COUNTED:
            return
        state = self._states.setdefault(_key(endpoint), _State())
        state.failures += 1
        if state.failures >= FAILURES:
            state.until = self.monotonic() + OPEN_SECONDS


def _key(endpoint: Endpoint) -> tuple[str, str]:
    return endpoint.base_url, endpoint.model
