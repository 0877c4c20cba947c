"""The way that a session's requests may go: its own endpoint first, then the fallbacks, each with its keys and what it has refused."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hermes.models.breaker import Breakers
from hermes.models.prefix import Prefix
from hermes.models.transports.base import Transport
from hermes.types.error import Failure
from hermes.types.request import Endpoint, LeftOut


class Keys(Protocol):
    """The credentials of one endpoint."""

    async def take(self) -> str | None:
        """A credential to use now, refreshed if it had to be; None when there is none that may be used at present."""

    def failed(self, credential: str, failure: Failure) -> bool:
        """Note a failure; whether another credential may be tried at once."""

    def reset_at(self) -> float | None:
        """When the next credential may be used again, in epoch seconds, while none may."""


@dataclass(slots=True)
class OneKey:
    """The only credential of an endpoint, or none at all."""

    credential: str

    async def take(self) -> str | None:
        """It, whatever happened before."""
        return self.credential

    def failed(self, _credential: str, _failure: Failure) -> bool:
        """There is no other."""
        return False

    def reset_at(self) -> float | None:
        """It may always be used."""
        return None


@dataclass(slots=True)
class Place:
    """One endpoint as a session uses it; `without` grows when the endpoint refuses a part of a request.

    `wake` gives an endpoint its address: a model that runs here is started when it is first used.
    """

    endpoint: Endpoint
    keys: Keys
    wake: Callable[[Endpoint], Awaitable[Endpoint]] | None = None
    without: frozenset[LeftOut] = frozenset()
    transport: Transport | None = None

    @property
    def name(self) -> str:
        """The model for a person."""
        return f"{self.endpoint.provider}/{self.endpoint.model}"

    def leave_out(self, part: LeftOut) -> None:
        """Render without `part` from now on; what was rendered with it is forgotten."""
        self.without |= {part}
        self.transport = None


@dataclass(slots=True)
class Route:
    """The places of a session, in order of preference; `at` is the one in use. A turn that left the first stays where it is.

    `measured` gives an endpoint with the window that is known of it now, `learn` hears of the window that an overflow stated,
    `reached` of every reply.
    """

    places: Sequence[Place]
    make: Callable[[Endpoint], Transport]
    breakers: Breakers
    measured: Callable[[Endpoint], Endpoint] = lambda endpoint: endpoint
    learn: Callable[[Endpoint, int], None] = lambda _endpoint, _window: None
    reached: Callable[[Endpoint], None] = lambda _endpoint: None
    at: int = 0
    largest_prompt: int = 0
    prefix: Prefix = field(default_factory=Prefix)

    @property
    def place(self) -> Place:
        """The place in use."""
        return self.places[self.at]

    @property
    def transport(self) -> Transport:
        """The transport of the place in use; it keeps what it has rendered."""
        place = self.place
        if place.transport is None:
            place.transport = self.make(place.endpoint)
        return place.transport

    def start(self) -> None:
        """Begin a turn: at the first place whose breaker is closed, else at the first of all; windows learned meanwhile count."""
        for place in self.places:
            place.endpoint = self.measured(place.endpoint)
        self.at = next((number for number, place in enumerate(self.places) if self.breakers.closed(place.endpoint)), 0)

    def onward(self) -> int | None:
        """The next place that may be tried."""
        after = range(self.at + 1, len(self.places))
        return next((number for number in after if self.breakers.closed(self.places[number].endpoint)), None)

    def ready(self, endpoint: Endpoint) -> None:
        """The place in use has an address now (a local model has been started)."""
        self.place.endpoint, self.place.keys, self.place.transport = endpoint, OneKey(endpoint.credential), None

    def fill(self, prompt: int) -> None:
        """Note how many tokens the last prompt had."""
        self.largest_prompt = max(self.largest_prompt, prompt)
