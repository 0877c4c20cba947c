"""The credentials of one provider taking turns: which one next, and how long one that failed is left
alone.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.models.catalog.catalogue import Provider
from hermes.models.settings import Strategy
from hermes.types.credential import Credential
from hermes.types.error import Failure

AUTH_SECONDS = 300.0
OTHER_SECONDS = 3600.0
WRITE_EVERY = 8
_QUOTA = {"rate_limit", "billing"}


class CredentialStore(Protocol):
    """Where credentials and their state are kept between processes."""

    def credentials(self, provider: str) -> tuple[Credential, ...]:
        """All of a provider's, as they are now."""

    def add(self, provider: str, credential: Credential) -> None:
        """Put one in, or in the place of the one with its id."""

    def remove(self, provider: str, credential_id: str) -> bool:
        """Take one out; whether it was there."""

    def change(
        self, provider: str, credential_id: str, update: Callable[[Credential], Credential]
    ) -> Credential | None:
        """Change one as it is now, and give it as it became; None when it is not there."""

    def refreshing(self, credential_id: str) -> AbstractAsyncContextManager[None]:
        """Alone, among all processes, with the right to refresh one."""


class Pool(Struct, kw_only=True):
    """One provider's credentials: keys of the environment, then what is kept.

    `account_quota` says that they share one quota, so that another does not help when it is used up.
    `uniform` is randomness.
    """

    provider: str
    keep: CredentialStore
    uniform: Callable[[float, float], float]
    environment: tuple[Credential, ...] = ()
    strategy: Strategy = "fill_first"
    account_quota: bool = False
    _last: str = ""
    _unwritten: dict[str, int] = field(default_factory=dict)

    def entries(self) -> tuple[Credential, ...]:
        """Every credential with its state as all processes know it, in order of priority."""
        kept = self.keep.credentials(self.provider)
        state = {one.id: one for one in kept if one.from_environment}
        own = [
            replace(state.get(one.id, one), secret=one.secret, command=one.command)
            for one in self.environment
        ]
        every = [*own, *(one for one in kept if not one.from_environment)]
        return tuple(sorted(every, key=lambda one: one.priority))

    def take(self, now: float) -> Credential | None:
        """The next one by the strategy, or None while none may be used.

        A sole one that is not dead is always given: nothing else could answer, and the provider's word on it
        is better than ours.
        """
        every = self.entries()
        usable = [one for one in every if one.usable(now)] or [
            one for one in every if len(every) == 1 and one.status != "dead"
        ]
        if not usable:
            return None
        counted = [
            replace(one, request_count=one.request_count + self._unwritten.get(one.id, 0)) for one in usable
        ]
        chosen = usable[STRATEGIES[self.strategy](counted, self._place(every, usable), self.uniform)]
        self._last = chosen.id
        self._count(chosen, alone=len(every) == 1)
        return chosen

    def report(self, credential: Credential, failure: Failure | None, now: float) -> None:
        """Note how a request with it went: None is well.

        A failure that is not the credential's leaves it as it is.
        """
        if failure is None:
            if credential.status != "ok":
                self._update(
                    credential, lambda one: replace(one, status="ok", exhausted_until=None, last_error="")
                )
            return
        until = _cool_until(failure, now)
        if failure.reason == "auth_permanent":
            self._update(
                credential, lambda one: replace(one, status="dead", last_error=failure.message[:200])
            )
        elif until is not None:
            shares = self.entries() if self._shared(failure) else (credential,)
            for each in shares:
                self._update(
                    each,
                    lambda one: replace(
                        one, status="exhausted", exhausted_until=until, last_error=failure.message[:200]
                    ),
                )

    def rotatable(self, failure: Failure) -> bool:
        """Whether another credential could do better: there must be one, and the quota must not be the
        account's.
        """
        return failure.rotate and not self._shared(failure) and len(self.entries()) > 1

    def reset_at(self, now: float) -> float | None:
        """When the next one may be used again, in epoch seconds; None when one may be used now, or none
        ever.
        """
        every = self.entries()
        if len(every) < 2 or any(one.usable(now) for one in every):
            return None
        return min(
            (one.exhausted_until for one in every if one.status == "exhausted" and one.exhausted_until),
            default=None,
        )

    @property
    def writes_next(self) -> bool:
        """Whether `take` may write next, and so wait for another process."""
        return any(count >= WRITE_EVERY - 1 for count in self._unwritten.values())

    def flush(self) -> None:
        """Write the uses that were only counted here so far."""
        for each in self.entries():
            count = self._unwritten.pop(each.id, 0)
            if count:
                self._update(each, partial(_used, times=count))

    def _shared(self, failure: Failure) -> bool:
        return failure.shared or (self.account_quota and failure.reason in _QUOTA)

    def _place(self, every: Sequence[Credential], usable: Sequence[Credential]) -> int:
        """Where in `usable` the turn after the last one's begins."""
        order = [one.id for one in every]
        last = order.index(self._last) if self._last in order else -1
        return next((place for place, one in enumerate(usable) if order.index(one.id) > last), 0)

    def _count(self, chosen: Credential, *, alone: bool) -> None:
        if alone and chosen.from_environment:
            return
        self._unwritten[chosen.id] = self._unwritten.get(chosen.id, 0) + 1
        if self._unwritten[chosen.id] >= WRITE_EVERY:
            self.flush()

    def _update(self, credential: Credential, update: Callable[[Credential], Credential]) -> None:
        """Change what is kept.

        The state of an environment key is kept without the key, and only while that is its value.
        """
        if self.keep.change(self.provider, credential.id, update) is None and credential.from_environment:
            self.keep.add(self.provider, update(credential))
            for other in self.keep.credentials(self.provider):
                if other.from_environment and other.label == credential.label and other.id != credential.id:
                    self.keep.remove(self.provider, other.id)


Choice = Callable[[Sequence[Credential], int, Callable[[float, float], float]], int]

STRATEGIES: Mapping[Strategy, Choice] = {
    "fill_first": lambda _usable, _place, _uniform: 0,
    "round_robin": lambda _usable, place, _uniform: place,
    "random": lambda usable, _place, uniform: min(int(uniform(0, len(usable))), len(usable) - 1),
    "least_used": lambda usable, _place, _uniform: min(
        range(len(usable)), key=lambda at: usable[at].request_count
    ),
}
"""Which of the usable ones, in order of priority, is next; `place` is where the turn after the last one's
begins.
"""


def environment_keys(provider: Provider, environ: Mapping[str, str]) -> tuple[Credential, ...]:
    """A credential for each key variable of a provider that is set, and for its command; one value counts
    once.
    """
    found = {environ[name]: name for name in reversed(provider.keys) if environ.get(name)}
    named = sorted(found.items(), key=lambda item: provider.keys.index(item[1]))
    keys = [
        Credential(
            id=f"env-{name}-{_mark(value)}", label=name, secret=value, priority=0, from_environment=True
        )
        for value, name in named
    ]
    if provider.key_command:
        mark = _mark(" ".join(provider.key_command))
        of_command = Credential(
            id=f"command-{mark}", kind="command", label="api_key_command", priority=0, from_environment=True
        )
        keys.append(replace(of_command, command=provider.key_command))
    return tuple(keys)


def _used(credential: Credential, *, times: int) -> Credential:
    return replace(credential, request_count=credential.request_count + times)


def _mark(value: str) -> str:
    """Enough of a hash to tell that a variable has another value now, and too little to tell which."""
    return hashlib.sha256(value.encode()).hexdigest()[:6]


def _cool_until(failure: Failure, now: float) -> float | None:
    if failure.reason != "auth" and failure.reason not in _QUOTA and not failure.rotate:
        return None
    if failure.reset_at is not None and failure.reset_at > now:
        return failure.reset_at
    return now + (AUTH_SECONDS if failure.reason == "auth" else OTHER_SECONDS)
