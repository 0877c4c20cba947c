"""The recovery ladder: one loop that classifies once and acts on the failure's flags. Every request goes through here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import anyio
import anyio.to_thread
import httpx2

from hermes.lib.lazy import Missing
from hermes.lib.lazy import load as late
from hermes.models import client, retry
from hermes.models.classify import StalledError, StatusError, classify
from hermes.models.endpoint import with_credential
from hermes.models.prefix import cost_of_break
from hermes.models.remedy import Chances, Remedy, remedy
from hermes.models.route import Place, Route
from hermes.models.spending import Purse, Reservation, Tariff, priced
from hermes.models.transports.base import BadReplyError, CutShortError, Reader, Transport, WireError
from hermes.types.error import ConfigError, ContextOverflow, Exhausted, Failure, ModelError
from hermes.types.event import Attempted, PrefixBroken
from hermes.types.message import Assistant
from hermes.types.request import Delta, Endpoint, LeftOut, Request
from hermes.types.usage import NO_USAGE, Usage

SHORTEST_KEY, HIDDEN = 6, "[the key]"
DONE = Remedy("done")
FAULTS = (StatusError, StalledError, WireError, CutShortError, BadReplyError, httpx2.RequestError, httpx2.InvalidURL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who hears of a reply as it comes: `emit` gets its pieces, `tell` the end of every request, before the pause that may follow.

    When a request has failed, the pieces that it had brought are void. `broken` hears of a request that does not extend the last one.
    """

    emit: Callable[[Delta], None]
    tell: Callable[[Attempted], None]
    broken: Callable[[PrefixBroken], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What attempts need from outside: the HTTP client, limits, a clock in epoch seconds and one for spans, and randomness.

    `redact` takes secrets out of what servers say in their errors: some repeat the key that they refuse.
    """

    http: httpx2.AsyncClient
    limits: client.Limits
    retries: int
    now: Callable[[], float]
    monotonic: Callable[[], float]
    uniform: Callable[[float, float], float]
    tariff: Tariff = field(default_factory=Tariff)
    redact: Callable[[str], str] = str

    async def stream(self, request: Request, route: Route, listener: Listener, purse: Purse, *, seconds: float | None = None) -> Assistant:
        """The reply; its usage is of all requests that it took.

        `seconds` is what is left for it. Raises ContextOverflow for the turn to handle, BudgetSpent before a call that may not start,
        ConfigError where a package is missing, else ModelError when nothing helps.
        """
        total = self.limits.total if seconds is None else min(seconds, self.limits.total)
        climb = _Climb(self, request, route, listener, purse, anyio.current_time() + total)
        try:
            return await climb.up()
        except Missing as error:
            raise ConfigError(str(error)) from error


@dataclass(slots=True)
class _Climb:
    """One reply's way through the ladder."""

    ladder: Ladder
    request: Request
    route: Route
    listener: Listener
    purse: Purse
    deadline: float
    failures: list[Failure] = field(default_factory=list)
    here: int = 0
    used: Usage = NO_USAGE
    refused: set[str] = field(default_factory=set, repr=False)
    pauses: Iterator[float] = field(init=False)

    def __post_init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        """At another place, or with another key, the attempts and their pauses are counted from the beginning."""
        self.here, self.pauses = 0, retry.delays(self.ladder.uniform)

    async def up(self) -> Assistant:
        while True:
            started = self.ladder.monotonic()
            result, usage, others = await self._attempt(started)
            seconds = self.ladder.monotonic() - started
            if isinstance(result, Assistant):
                self._tell(usage, seconds, DONE)
                return replace(result, usage=self.used)
            self.failures.append(result)
            self.here += 1
            chosen = remedy(result, self._chances(next(self.pauses), others=others))
            await self._act(chosen, result, usage, seconds)

    async def _attempt(self, started: float) -> tuple[Assistant | Failure, Usage, bool]:
        """One request at the place in use: the reply or the failure, what it used, and whether another key is left."""
        ladder, place = self.ladder, await self._awake()
        credential = await place.keys.take()
        if credential is None:
            return _no_key(place, self.failures), NO_USAGE, False
        endpoint = with_credential(place.endpoint, credential)
        transport = self.route.transport
        request = _for(self.request, endpoint, place.without)
        reader = transport.reader(request)
        wanted = ladder.tariff.wanted(endpoint.price, self._prompt, request.options.max_output or endpoint.max_output)
        await self.purse.reserve(wanted, seconds=self.deadline - anyio.current_time())
        try:
            result = await self._send(request, transport, reader)
        except BaseException:  # the turn was interrupted, and what came so far has been paid for
            usage = self._account(wanted, reader, endpoint)
            self._tell(usage, ladder.monotonic() - started, Remedy("interrupted"))
            raise
        usage = self._account(wanted, reader, endpoint)
        if isinstance(result, Assistant):
            self.route.breakers.worked(endpoint)
            self.route.fill(usage.input_tokens)
            self.route.reached(endpoint)
            return result, usage, False
        self.route.breakers.failed(endpoint, result.reason)
        if result.window:
            self.route.learn(endpoint, result.window)
        return result, usage, self._others(place, credential, result)

    def _others(self, place: Place, credential: str, failure: Failure) -> bool:
        """Whether another key may be tried at once. Each is left only once, or two that cool down for a moment would alternate for ever."""
        again = credential in self.refused
        if failure.rotate:
            self.refused.add(credential)
        return place.keys.failed(credential, failure) and not again

    async def _awake(self) -> Place:
        """The place in use; a model that runs here is started when it is first needed."""
        place = self.route.place
        if not place.endpoint.base_url and place.wake is not None:
            self.route.ready(await place.wake(place.endpoint))
        return self.route.place

    async def _send(self, request: Request, transport: Transport, reader: Reader) -> Assistant | Failure:
        ladder, endpoint = self.ladder, request.endpoint
        self._watch_prefix(request, transport)
        try:
            wire = transport.render(request)
            if endpoint.auth == "aws":  # in a thread: looking for credentials may read files and ask servers
                wire = await anyio.to_thread.run_sync(late("hermes.models.aws:sign"), wire, endpoint)
            return await client.send(ladder.http, wire, reader, ladder.limits, self.listener.emit, deadline=self.deadline)
        except FAULTS as error:
            size = 0 if reader.progress else self._prompt
            return self._without_secrets(classify(error, endpoint, size, now=ladder.now()), endpoint)

    def _without_secrets(self, failure: Failure, endpoint: Endpoint) -> Failure:
        message = failure.message
        if len(endpoint.credential) >= SHORTEST_KEY:
            message = message.replace(endpoint.credential, HIDDEN)
        return replace(failure, message=self.ladder.redact(message))

    def _watch_prefix(self, request: Request, transport: Transport) -> None:
        reason = self.route.prefix.sent(request, transport)
        if reason:
            self.listener.broken(PrefixBroken(reason=reason, cost=cost_of_break(self._prompt, request.endpoint.price)))

    def _account(self, wanted: Reservation, reader: Reader, endpoint: Endpoint) -> Usage:
        """Count what a request has used as far as the wire told: at least the request itself."""
        usage = priced(reader.usage, endpoint.price)
        self.purse.settle(wanted, usage.input_tokens + usage.output_tokens, self.ladder.tariff.counted(usage, endpoint.price))
        self.used = self.used + usage if self.failures else usage
        return usage

    @property
    def _prompt(self) -> int:
        """The prompt in tokens, by the last one that was counted; never less than a rough guess at the system prompt."""
        return max(self.route.largest_prompt, len(self.request.system) // 4)

    def _chances(self, pause: float, *, others: bool) -> Chances:
        onward = self.route.onward()
        here = self.route.place.endpoint
        return Chances(
            failures=self.here,
            retries=self.ladder.retries,
            pause=pause,
            left=self.deadline - anyio.current_time(),
            now=self.ladder.now(),
            others=others,
            onward=onward is not None,
            larger=onward is not None and self.route.places[onward].endpoint.context_window > here.context_window,
            refused=self.route.place.without,
        )

    async def _act(self, chosen: Remedy, failure: Failure, usage: Usage, seconds: float) -> None:
        """Tell of a failed request and do what follows; raises when it was the last."""
        onward = self.route.onward()
        names = {"leave_out": chosen.part, "next_endpoint": self.route.places[onward].name if onward is not None else ""}
        self._tell(usage, seconds, chosen, failure=failure, following=names.get(chosen.action, ""))
        match chosen.action:
            case "wait":
                await anyio.sleep(chosen.delay)
            case "leave_out":
                self.route.place.leave_out(cast("LeftOut", chosen.part))
            case "next_endpoint" if onward is not None:
                self.route.at = onward
                self._begin_anew()
            case "next_credential":
                self._begin_anew()
            case _:
                raise self._final()

    def _tell(self, usage: Usage, seconds: float, chosen: Remedy, *, failure: Failure | None = None, following: str = "") -> None:
        endpoint = self.route.place.endpoint
        self.listener.tell(
            Attempted(
                attempt=self.here + (failure is None),
                attempts=self.ladder.retries,
                provider=endpoint.provider,
                model=endpoint.model,
                seconds=seconds,
                usage=usage,
                action=chosen.action,
                failure=failure,
                delay=chosen.delay,
                next=following,
            )
        )

    def _final(self) -> ModelError:
        last = self.failures[-1]
        if last.compress:
            return ContextOverflow(last)
        return Exhausted(tuple(self.failures)) if len(self.failures) > 1 else ModelError(last)


def _for(request: Request, endpoint: Endpoint, without: frozenset[LeftOut]) -> Request:
    if request.endpoint is endpoint and request.without == without:
        return request
    messages = request.messages
    if "large_images" in without:
        messages = tuple(map(late("hermes.models.images:smaller"), messages))
    return replace(request, endpoint=endpoint, without=without, messages=messages)


def _no_key(place: Place, before: list[Failure]) -> Failure:
    """No credential of a place may be used at present; where they were refused, waiting helps nobody."""
    if before and before[-1].address == place.endpoint.base_url and not before[-1].retryable:
        return replace(before[-1], rotate=False, leave_out="")
    reset_at = place.keys.reset_at()
    return Failure(
        reason="rate_limit",
        message=f"Every key of {place.endpoint.provider} is cooling down; hermes auth list shows them.",
        address=place.endpoint.base_url,
        retryable=reset_at is not None,
        fall_back=True,
        reset_at=reset_at,
    )
