"""The recovery executor: one loop that classifies once and acts on the failure's flags.

Every request goes through here.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar, Final, cast

import anyio
import anyio.to_thread
import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.lib.abridged import Abridged
from hermes.lib.http import BadCertificates
from hermes.lib.lazy import Missing, import_object
from hermes.models import client
from hermes.models.auth.aws import sign
from hermes.models.budget import Budget, PriceEstimator, Reservation, priced
from hermes.models.catalog.endpoint import with_credential
from hermes.models.reliability.changed_body import within
from hermes.models.reliability.continuation import spelled_out, to_be_continued, tokens
from hermes.models.reliability.images import smaller
from hermes.models.reliability.listener import ReplyListener
from hermes.models.reliability.recovery import (
    FIRST_RETRY,
    RecoveryAction,
    RecoveryContext,
    choose_recovery,
    delays,
    retries_after,
)
from hermes.models.reliability.repeating import RepeatedReply, RepetitionGuard
from hermes.models.reliability.route import Route, Target, cost_of_break
from hermes.models.transports.base import ReplyReader, StalledError, Transport, WireRequest
from hermes.models.transports.common.marks import without_marks
from hermes.types.error import ConfigError, ContextOverflow, Exhausted, Failure, ModelError
from hermes.types.event import Attempted, PrefixBroken
from hermes.types.message import Assistant, Cut
from hermes.types.request import Endpoint, LeftOut, Request
from hermes.types.usage import NO_USAGE, Usage

SHORTEST_KEY, HIDDEN = 6, "[the key]"
DONE = RecoveryAction("done")


class RequestExecutor(Struct, frozen=True, kw_only=True):
    """What attempts need from outside: the HTTP client, timeouts, a clock in epoch seconds and one for spans,
    and randomness.

    `repetition` is how many characters of the same end a reply, 0 for none. `redact` takes secrets out of
    what servers say in their errors: some repeat the key that they refuse.
    """

    http: httpx2.AsyncClient
    timeouts: client.Timeouts
    retries: int
    now: Callable[[], float]
    monotonic: Callable[[], float]
    uniform: Callable[[float, float], float]
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    first_retry: float = FIRST_RETRY
    repetition: int = 0
    estimator: PriceEstimator = field(default_factory=PriceEstimator)
    redact: Callable[[str], str] = str

    async def stream(
        self,
        request: Request,
        route: Route,
        listener: ReplyListener,
        budget: Budget,
        *,
        seconds: float | None = None,
        shortens: bool = False,
    ) -> Assistant:
        """The reply; its usage is of all requests that it took.

        `seconds` is what is left for it; `shortens` says that who asks can make the conversation shorter, and
        has to do so before another endpoint is asked. Raises ContextOverflow for the turn to handle,
        BudgetSpent before a call that may not start, ConfigError where a package is missing or the
        certificates to trust are damaged, else ModelError when nothing helps.
        """
        total = self.timeouts.total if seconds is None else min(seconds, self.timeouts.total)
        sent = route.prefix.request
        known = sent.messages if sent else ()
        request = replace(request, messages=spelled_out(request.messages, known))
        attempts = _AttemptState(
            self, request, route, listener, budget, delays(self.uniform), self.monotonic() + total, shortens
        )
        try:
            while True:
                reply = await attempts.once()
                if reply is not None:
                    return reply
        except (Missing, BadCertificates) as error:
            raise ConfigError(str(error)) from error


NOTHING_HELD: Final = Reservation(tokens=0, cost=0.0)
LETTERS: Final = 4
"""Of a token, on average."""


class _AttemptState(Abridged, Struct):
    """The attempts at one reply: `here` counts the failures at the target and key in use, which begin anew
    with their pauses at another.
    """

    unshown: ClassVar = ("refused",)

    executor: RequestExecutor
    request: Request
    route: Route
    listener: ReplyListener
    budget: Budget
    pauses: Iterator[float]
    deadline: float
    shortens: bool
    failures: list[Failure] = field(default_factory=list)
    here: int = 0
    used: Usage = NO_USAGE
    refused: set[str] = field(default_factory=set)
    wordless: int = 0
    sent: int = 0
    own: bytes = b""
    held: Reservation = NOTHING_HELD

    async def once(self) -> Assistant | None:
        """Send one request and do what follows; None where that is another attempt."""
        executor, route = self.executor, self.route
        started = executor.monotonic()
        if not route.target.endpoint.base_url and route.target.prepare is not None:
            route.ready(await route.target.prepare(route.target.endpoint))  # a local model starts when needed
        target = route.target
        credential = await target.keys.take()
        if credential is None:
            await self._recover(_no_key(target, self.failures), NO_USAGE, started)
            return None
        endpoint, transport = with_credential(target.endpoint, credential), route.transport
        reader = transport.reader(request := _for(self.request, endpoint, target.without))
        await self._hold(request)
        try:
            wire = await self._rendered(request, transport)
            result = self._checked(await self._sent(wire, reader, request), endpoint)
        except client.FAULTS as error:
            size = 0 if reader.progress else self._prompt
            result = self._without_secrets(
                _faults().classify(error, endpoint, size, now=executor.now()), endpoint
            )
        except BaseException:  # the turn was interrupted, and what came so far has been paid for
            usage = self._account(reader, endpoint)
            self._tell(usage, started, RecoveryAction("interrupted"))
            raise
        usage = self._account(reader, endpoint)
        if isinstance(result, Failure):
            await self._recover(result, usage, started, endpoint)
            return None
        await self._worked(endpoint, usage, result, started)
        return replace(result, usage=self.used, cuts=(Cut(tokens=tokens(self.used - usage)),) * self.wordless)

    async def _worked(self, endpoint: Endpoint, usage: Usage, reply: Assistant, started: float) -> None:
        """Note and tell that a request has brought a reply."""
        self.route.worked(endpoint, usage.input_tokens)
        self._tell(usage, started, DONE)
        await self._tell_watch(reply, started)

    async def _tell_watch(self, found: Assistant | Failure, started: float) -> None:
        if self.listener.watch is not None:
            seconds = self.executor.monotonic() - started
            await self.listener.watch.ended(found, self.here + 1, self.executor.retries, seconds)

    async def _hold(self, request: Request, more: int = 0) -> None:
        """Hold in the budgets what a request may use, whose prompt has so many tokens more than is known."""
        self.budget.settle(self.held, 0, 0.0)
        self.held, executor, endpoint = NOTHING_HELD, self.executor, request.endpoint
        limit = request.options.max_output or endpoint.max_output
        wanted = executor.estimator.wanted(endpoint.price, self._prompt + more, limit)
        await self.budget.reserve(wanted, seconds=self.deadline - executor.monotonic())
        self.held = wanted

    async def _changed(self, wire: WireRequest, body: bytes, request: Request) -> WireRequest:
        """The request with another body, in whose place it is held, too."""
        if body is wire.body:
            return wire
        changed = within(wire.body, body)
        await self._hold(request, max(0, len(changed) - len(wire.body)) // LETTERS)
        return replace(wire, body=changed)

    async def _sent(self, wire: WireRequest, reader: ReplyReader, request: Request) -> Assistant:
        """What the server replies, or what stands around the request has in its place, within its time."""
        watch = self.listener.watch
        if watch is None:
            return await self._replied(wire, reader, request.endpoint)

        async def send(body: bytes) -> Assistant:
            return await self._replied(await self._changed(wire, body, request), reader, request.endpoint)

        with anyio.move_on_after(max(0.0, self.deadline - self.executor.monotonic())):
            return await watch.around(wire.body, send)
        raise StalledError("what stands around the request had not ended when its time was over")

    async def _replied(self, wire: WireRequest, reader: ReplyReader, endpoint: Endpoint) -> Assistant:
        """What the server replies, or as much of it as there was before it began to repeat itself."""
        executor = self.executor
        self.sent = len(wire.body)
        if self.listener.watch is not None or self.route.shape is not None:
            self._tell_broken(self.route.prefix.changed(self.own, wire.body), endpoint)
        if endpoint.auth == "aws":  # in a thread: looking for credentials may read files, ask servers
            wire = await anyio.to_thread.run_sync(sign, wire, endpoint)
        try:
            return await client.send(
                executor.http,
                wire,
                reader,
                executor.timeouts,
                RepetitionGuard(self.listener.emit, executor.repetition).feed,
                deadline=anyio.current_time() + self.deadline - executor.monotonic(),
            )
        except RepeatedReply as stopped:
            return stopped.reply(endpoint)

    def _checked(self, reply: Assistant, endpoint: Endpoint) -> Assistant | Failure:
        """The reply, or what is wrong with it; where it was cut before its first word, the next request says
        so.
        """
        if reply.text.strip() or reply.calls:
            return reply
        if reply.stop == "length":
            begun = (*self.request.messages, to_be_continued(Assistant(id="", at=0.0)))
            self.request = replace(self.request, messages=spelled_out(begun))
            self.wordless += 1
        failure: Failure = _faults().unanswered(reply, endpoint)
        return failure

    async def _rendered(self, request: Request, transport: Transport) -> WireRequest:
        """The request as bytes, as plugins have it; a broken prefix is told."""
        self.sent, wire, watch, route = 0, transport.render(request), self.listener.watch, self.route
        self.own = own = without_marks(wire.body, request.endpoint.marks)
        wire = replace(wire, body=own)
        if route.shape is not None:
            wire = replace(wire, body=await route.shape(own, request, route.session_id))
        if watch is not None:
            wire = await self._changed(wire, await watch.changed(request, wire.body), request)
            await watch.sends(request)
        self._tell_broken(route.prefix.sent(request, transport), request.endpoint)
        return wire

    def _tell_broken(self, reason: str, endpoint: Endpoint) -> None:
        if reason:
            cost = cost_of_break(self._prompt, endpoint.price)
            self.listener.broken(PrefixBroken(reason=reason, cost=cost))

    def _without_secrets(self, failure: Failure, endpoint: Endpoint) -> Failure:
        message = failure.message
        if len(endpoint.credential) >= SHORTEST_KEY:
            message = message.replace(endpoint.credential, HIDDEN)
        return replace(failure, message=self.executor.redact(message))

    def _account(self, reader: ReplyReader, endpoint: Endpoint) -> Usage:
        """Count what a request has used as far as the wire told: at least the request itself."""
        usage = priced(reader.usage, endpoint.price) if self.sent else NO_USAGE
        counted = self._estimated(reader) if usage.input_tokens + usage.output_tokens <= 0 else usage
        self.budget.settle(
            self.held,
            counted.input_tokens + counted.output_tokens,
            self.executor.estimator.counted(counted, endpoint.price),
        )
        self.held = NOTHING_HELD
        self.used = self.used + usage if self.failures else usage
        return usage

    def _estimated(self, reader: ReplyReader) -> Usage:
        """What a reply without usage counts as in budgets: by the letters that went and came."""
        if not reader.progress:
            return NO_USAGE
        return Usage(input_tokens=self.sent // LETTERS, output_tokens=reader.progress // LETTERS + 1)

    @property
    def _prompt(self) -> int:
        """The prompt in tokens, by the last one that was counted; never less than a rough guess at the system
        prompt.
        """
        return max(self.route.largest_prompt, len(self.request.system) // 4)

    async def _recover(
        self, failure: Failure, usage: Usage, started: float, sent_to: Endpoint | None = None
    ) -> None:
        """Tell of a failed request and do what follows; raises when it was the last."""
        executor, route = self.executor, self.route
        if sent_to is not None:
            await self._tell_watch(failure, started)
        self.failures.append(failure)
        self.here += 1
        target = route.target
        following = None if failure.compress and self.shortens else route.next_available()
        context = RecoveryContext(
            failures=self.here,
            retries=executor.retries,
            first_retry=executor.first_retry,
            pause=next(self.pauses),
            left=self.deadline - executor.monotonic(),
            now=executor.now(),
            others=sent_to is not None and await self._other_key(target, sent_to, failure),
            next_available=following is not None,
            larger=following is not None
            and route.targets[following].endpoint.context_window > target.endpoint.context_window,
            refused=target.without,
        )
        chosen = choose_recovery(failure, context)
        name = route.targets[following].name if following is not None else ""
        told = {"leave_out": chosen.part, "next_endpoint": name}.get(chosen.action, "")
        self._tell(usage, started, chosen, failure=failure, following=told)
        match chosen.action:
            case "wait":
                await executor.sleep(chosen.delay)
            case "leave_out":
                target.leave_out(cast("LeftOut", chosen.part))
            case "next_endpoint" if following is not None:
                route.move(following)
                self.here, self.pauses = 0, delays(executor.uniform)
            case "next_credential":
                self.here, self.pauses = 0, delays(executor.uniform)
            case _ if failure.compress:
                raise ContextOverflow(failure)
            case _:
                raise Exhausted(tuple(self.failures)) if len(self.failures) > 1 else ModelError(failure)

    async def _other_key(self, target: Target, endpoint: Endpoint, failure: Failure) -> bool:
        """Note the failure at its endpoint and key; whether another key may be tried at once.

        Each is left only once, or two that cool down for a moment would alternate for ever.
        """
        self.route.failed(endpoint, failure)
        again = endpoint.credential in self.refused
        if failure.rotate:
            self.refused.add(endpoint.credential)
        return await target.keys.failed(endpoint.credential, failure) and not again

    def _tell(
        self,
        usage: Usage,
        started: float,
        chosen: RecoveryAction,
        *,
        failure: Failure | None = None,
        following: str = "",
    ) -> None:
        endpoint, retries = self.route.target.endpoint, self.executor.retries
        self.listener.tell(
            Attempted(
                attempt=self.here + (failure is None),
                attempts=retries_after(failure.reason, retries) if failure else retries,
                provider=endpoint.provider,
                model=endpoint.model,
                seconds=self.executor.monotonic() - started,
                usage=usage,
                action=chosen.action,
                failure=failure,
                delay=chosen.delay,
                next=following,
            )
        )


def _for(request: Request, endpoint: Endpoint, without: frozenset[LeftOut]) -> Request:
    if request.endpoint is endpoint and request.without == without:
        return request
    messages = request.messages
    if "large_images" in without:
        messages = tuple(map(smaller, messages))
    return replace(request, endpoint=endpoint, without=without, messages=messages)


def _no_key(target: Target, before: list[Failure]) -> Failure:
    """No credential of a target may be used at present: a sign-in that has run out says so, and where the
    server refused them all, waiting helps nobody.
    """
    reset_at, trouble = target.keys.reset_at(), target.keys.trouble()
    refused = before and before[-1].address == target.endpoint.base_url and not before[-1].retryable
    if refused and not trouble:
        return replace(before[-1], rotate=False, leave_out="")
    resting = f"Every key of {target.endpoint.provider} is cooling down; hermes auth list shows them."
    return Failure(
        reason="rate_limit" if reset_at or not trouble else "auth_permanent",
        message=" ".join(filter(None, (resting if reset_at or not trouble else "", trouble))),
        address=target.endpoint.base_url,
        retryable=reset_at is not None,
        fall_back=True,
        reset_at=reset_at,
    )


def _faults() -> Any:
    """What reads faults; most sessions have none."""
    return import_object("hermes.models.errors.classify")
