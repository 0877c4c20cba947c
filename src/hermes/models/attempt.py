"""The recovery ladder: one loop that classifies once and acts on the failure's flags. Every request goes through here."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import httpx2

from hermes.models import client, retry
from hermes.models.classify import StalledError, StatusError, classify
from hermes.models.transports.base import CutShortError, Transport, WireError
from hermes.types.error import ContextOverflow, Exhausted, Failure, ModelError
from hermes.types.event import Attempted
from hermes.types.message import Assistant
from hermes.types.request import Delta, Request
from hermes.types.usage import Usage

FAULTS = (StatusError, StalledError, WireError, CutShortError, httpx2.TransportError, httpx2.InvalidURL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What an attempt needs from outside: the HTTP client, limits, a clock in epoch seconds and randomness."""

    http: httpx2.AsyncClient
    limits: client.Limits
    retries: int
    now: Callable[[], float]
    uniform: Callable[[float, float], float]

    async def stream(
        self, request: Request, transport: Transport, emit: Callable[[Delta], None], tell: Callable[[Attempted], None]
    ) -> Assistant:
        """The reply. Raises ContextOverflow for the turn to handle, else ModelError when nothing helps.

        `tell` hears of each failed attempt before the wait; text that the failed attempt had emitted is void then.
        """
        wire = transport.render(request)
        deadline = anyio.current_time() + self.limits.total
        failures: list[Failure] = []
        for pause in retry.delays(self.uniform):
            left = deadline - anyio.current_time()
            try:
                limits = dataclasses.replace(self.limits, total=left)
                reply = await client.send(self.http, wire, transport.reader(request), limits, emit)
                return dataclasses.replace(reply, usage=reply.usage + Usage(requests=len(failures)))
            except FAULTS as error:
                failure = classify(error, wire.url, now=self.now())
                failures.append(failure)
            delay = self._delay(failure, pause)
            if self._over(failures, delay, deadline - anyio.current_time()):
                raise _final(failures)
            tell(
                Attempted(
                    attempt=len(failures), attempts=self.retries, provider=request.endpoint.provider, model=request.endpoint.model,
                    seconds=0.0, usage=Usage(requests=1), action="wait", failure=failure, delay=delay,
                )
            )  # fmt: skip
            await anyio.sleep(delay)
        raise AssertionError("delays never end")

    def _delay(self, failure: Failure, pause: float) -> float:
        return max(0.0, failure.reset_at - self.now()) if failure.reset_at is not None else pause

    def _over(self, failures: list[Failure], delay: float, left: float) -> bool:
        return not failures[-1].retryable or len(failures) > self.retries or delay >= left


def _final(failures: list[Failure]) -> ModelError:
    last = failures[-1]
    if last.reason == "context_overflow":
        return ContextOverflow(last)
    return Exhausted(tuple(failures)) if len(failures) > 1 else ModelError(last)
