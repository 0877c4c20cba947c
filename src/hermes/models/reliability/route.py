"""The way that a session's requests may go: its own endpoint first, then the fallbacks, each with its keys,
its breaker, what it has refused and what it was sent.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct, field

from hermes.models.budget import cost_of
from hermes.models.reliability.changed_body import shown
from hermes.models.transports.base import Transport
from hermes.types.error import Failure, Reason
from hermes.types.profile import Price
from hermes.types.request import Endpoint, LeftOut, Request
from hermes.types.usage import Usage

FAILURES, OPEN_SECONDS = 5, 30.0
COUNTED: frozenset[Reason] = frozenset(
    {
        "overloaded",
        "server_error",
        "timeout",
        "connection",
        "connection_refused",
        "cut_short",
        "certificate",
        "bad_reply",
    }
)


class _State(Struct):
    failures: int = 0
    until: float = 0.0


class Breakers(Struct):
    """The breakers of one runtime, shared by its sessions; `monotonic` is in seconds."""

    monotonic: Callable[[], float]
    _states: dict[tuple[str, str], _State] = field(default_factory=dict)

    def available(self, endpoint: Endpoint) -> bool:
        """Whether a request may be sent there now; asking changes nothing."""
        state = self._states.get(_key(endpoint))
        return state is None or state.failures < FAILURES or self.monotonic() >= state.until

    def take(self, endpoint: Endpoint) -> bool:
        """Reserve the next request there; False when there may be none.

        Once an open breaker's time is over one caller gets the request that tries the endpoint, and the
        others wait for its result.
        """
        if not self.available(endpoint):
            return False
        state = self._states.get(_key(endpoint))
        if state is not None and state.failures >= FAILURES:
            state.until = self.monotonic() + OPEN_SECONDS
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


class PrefixWatch(Struct):
    """The last request of a session, and the transport that rendered it; it keeps what it rendered, so equal
    messages are equal bytes.
    """

    request: Request | None = None
    transport: Transport | None = None
    bodies: tuple[bytes, bytes] | None = None

    def sent(self, request: Request, transport: Transport) -> str:
        """Why this request does not extend the one before it; empty when it does.

        It is the one before it from now on.
        """
        reason = self._reason(request, transport)
        self.request, self.transport = request, transport
        self.bodies = None if reason else self.bodies
        return reason

    def changed(self, own: bytes, sent: bytes) -> str:
        """The same of a body that plugins may have sent in the place of ours."""
        before, self.bodies = self.bodies, (own, sent)
        if before is None or (own is sent and before[0] is before[1]):
            return ""
        earlier = shown(before[1])
        is_longer = shown(sent)[: len(earlier)] == earlier
        return "" if is_longer else "a plugin changed what the model had read"

    def _reason(self, request: Request, transport: Transport) -> str:
        before = self.request
        if before is None:
            return ""
        if (
            before.endpoint.model != request.endpoint.model
            or before.endpoint.base_url != request.endpoint.base_url
        ):
            return f"the model is {request.endpoint.provider}/{request.endpoint.model} now"
        if before.without != request.without:
            return (
                "the server refused a part of the request:"
                f" {', '.join(sorted(request.without - before.without)) or 'none now'}"
            )
        if self.transport is not transport:
            return "the conversation is rendered anew"
        if before.system != request.system:
            return "the system prompt changed"
        if before.tools is not request.tools and before.tools != request.tools:
            return "the tools changed"
        if request.messages[: len(before.messages)] != before.messages:
            return "earlier messages were dropped or summed up"
        return ""


def cost_of_break(prompt: int, price: Price | None) -> float | None:
    """US dollars that reading a prompt of so many tokens anew costs; None without a price."""
    return None if price is None else cost_of(Usage(input_tokens=prompt), price)


class KeySource(Protocol):
    """The credentials of one endpoint."""

    async def take(self) -> str | None:
        """A credential to use now, refreshed if it had to be; None when there is none that may be used at
        present.
        """

    async def failed(self, credential: str, failure: Failure) -> bool:
        """Note a failure; whether another credential may be tried at once."""

    def reset_at(self) -> float | None:
        """When the next credential may be used again, in epoch seconds, while none may."""

    def trouble(self) -> str:
        """Why a credential gives nothing and what to do about it, in sentences; empty when there is no more
        to say than that each rests.
        """


class OneKey(Struct):
    """The only credential of an endpoint, or none at all."""

    credential: str

    async def take(self) -> str | None:
        """It, whatever happened before."""
        return self.credential

    async def failed(self, _credential: str, _failure: Failure) -> bool:
        """There is no other."""
        return False

    def reset_at(self) -> float | None:
        """It may always be used."""
        return None

    def trouble(self) -> str:
        """There is none before a server refuses it."""
        return ""


class Target(Struct):
    """One endpoint as a session uses it; `without` grows when the endpoint refuses a part of a request.

    `prepare` gives an endpoint its address: a model that runs here is started when it is first used.
    """

    endpoint: Endpoint
    keys: KeySource
    prepare: Callable[[Endpoint], Awaitable[Endpoint]] | None = None
    without: frozenset[LeftOut] = frozenset()
    transport: Transport | None = None

    @property
    def name(self) -> str:
        """The model for a person."""
        return self.endpoint.full_name

    def leave_out(self, part: LeftOut) -> None:
        """Render without `part` from now on; what was rendered with it is forgotten."""
        self.without |= {part}
        self.transport = None


class Route(Struct):
    """The targets of a session, in order of preference; `at` is the one in use. A turn that left the first
    stays where it is.

    `measured` gives an endpoint with the window that is known of it now, `learn` hears of the window that an
    overflow stated, `reached` of every reply. `shape` gives a request's body the form that the plugin of its
    provider wants, told whose session it is.
    """

    targets: Sequence[Target]
    make: Callable[[Endpoint], Transport]
    breakers: Breakers
    measured: Callable[[Endpoint], Endpoint] = lambda endpoint: endpoint
    learn: Callable[[Endpoint, int], None] = lambda _endpoint, _window: None
    reached: Callable[[Endpoint], None] = lambda _endpoint: None
    shape: Callable[[bytes, Request, str], Awaitable[bytes]] | None = None
    session_id: str = ""
    at: int = 0
    largest_prompt: int = 0
    prefix: PrefixWatch = field(default_factory=PrefixWatch)

    @property
    def target(self) -> Target:
        """The target in use."""
        return self.targets[self.at]

    @property
    def transport(self) -> Transport:
        """The transport of the target in use; it keeps what it has rendered."""
        target = self.target
        if target.transport is None:
            target.transport = self.make(target.endpoint)
        return target.transport

    def start(self) -> None:
        """Begin a turn at the first target whose breaker is closed, else at the first of all; windows
        learned meanwhile count.
        """
        for target in self.targets:
            target.endpoint = self.measured(target.endpoint)
        self.at = next(
            (number for number, target in enumerate(self.targets) if self.breakers.take(target.endpoint)), 0
        )

    def next_available(self) -> int | None:
        """The next target that may be tried; asking reserves nothing."""
        after = range(self.at + 1, len(self.targets))
        return next(
            (number for number in after if self.breakers.available(self.targets[number].endpoint)), None
        )

    def next_roomier(self, failure: Failure) -> int | None:
        """The next target that may take what this one refused as too long: one with a larger window, or any
        where the failure says that others may.
        """
        size = self.target.endpoint.context_window
        for number in range(self.at + 1, len(self.targets)):
            endpoint = self.targets[number].endpoint
            if (failure.fall_back or endpoint.context_window > size) and self.breakers.available(endpoint):
                return number
        return None

    def move(self, number: int) -> None:
        """Go on at that target."""
        self.breakers.take(self.targets[number].endpoint)
        self.at = number

    def ready(self, endpoint: Endpoint) -> None:
        """The target in use has an address now (a local model has been started)."""
        self.target.endpoint, self.target.keys, self.target.transport = (
            endpoint,
            OneKey(endpoint.credential),
            None,
        )

    def worked(self, endpoint: Endpoint, prompt: int) -> None:
        """Note a reply, and how many tokens its prompt had."""
        self.breakers.worked(endpoint)
        self.largest_prompt = max(self.largest_prompt, prompt)
        self.reached(endpoint)

    def failed(self, endpoint: Endpoint, failure: Failure) -> None:
        """Note a failure, and the window that it states."""
        self.breakers.failed(endpoint, failure.reason)
        if failure.window:
            self.learn(endpoint, failure.window)
