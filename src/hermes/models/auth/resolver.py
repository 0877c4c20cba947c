"""The secret of a credential at the moment of use: tokens are refreshed, commands run, the key ring asked."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import anyio
import anyio.to_thread
import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.lib.abridged import Abridged
from hermes.lib.child_processes import run_process
from hermes.lib.lazy import Missing, import_object
from hermes.lib.secretvalues import SecretValues
from hermes.models.auth import oauth
from hermes.models.auth.credentials import CredentialStore, Pool
from hermes.types.credential import Credential
from hermes.types.error import Failure, HermesError, StoreError

EARLY_SECONDS = 60.0
COMMAND_SECONDS = 10.0
KEPT_SECONDS = 300.0
RETRY_SECONDS = 30.0
KEYRING_SERVICE = "hermes"


class CredentialUnavailable(HermesError):
    """A credential gives no secret at present; `final` says that it never will again."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class SecretResolver(Abridged, Struct, kw_only=True):
    """Gets at secrets. `environ` is what commands run with, `now` the time in epoch seconds.

    What a command or the key ring gave is kept in memory for five minutes. `known` learns every secret that
    comes this way.
    """

    unshown: ClassVar = ("_kept",)

    http: httpx2.AsyncClient
    keep: CredentialStore
    environ: Mapping[str, str]
    now: Callable[[], float]
    known: SecretValues = field(default_factory=SecretValues)
    _kept: dict[str, tuple[str, float]] = field(default_factory=dict)

    async def open(self, provider: str, credential: Credential) -> Credential:
        """The credential with its secret in it; CredentialUnavailable says in a sentence why not."""
        self.known.learn(credential.secret, credential.refresh_token)
        opened = await self._opened(provider, credential)
        self.known.learn(opened.secret, opened.refresh_token)
        return opened

    async def _opened(self, provider: str, credential: Credential) -> Credential:
        match credential.kind:
            case "oauth":
                return await self._fresh(provider, credential)
            case "command" | "keyring":
                kept, until = self._kept.get(credential.id, ("", 0.0))
                secret = (
                    kept
                    if until > self.now()
                    else await (
                        self._printed(credential)
                        if credential.kind == "command"
                        else _from_keyring(provider, credential)
                    )
                )
                self._kept[credential.id] = (secret, self.now() + KEPT_SECONDS)
                return replace(credential, secret=secret)
            case _:
                return credential

    def forget(self, credential: Credential) -> None:
        """Ask anew next time: what was given was refused."""
        self._kept.pop(credential.id, None)

    async def _printed(self, credential: Credential) -> str:
        name = credential.command[0] if credential.command else "(nothing)"
        try:
            with anyio.fail_after(COMMAND_SECONDS):
                done = await run_process(credential.command, env=dict(self.environ))
        except TimeoutError as error:
            raise CredentialUnavailable(
                f"The command {name} gave no key within {COMMAND_SECONDS:.0f} s."
            ) from error
        except OSError as error:
            raise CredentialUnavailable(
                f"The command {name} for a key cannot be run ({error.strerror})."
            ) from error
        key = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode or not key:
            raise CredentialUnavailable(f"The command {name} gave no key: it ended with {done.returncode}.")
        return key

    async def _fresh(self, provider: str, credential: Credential) -> Credential:
        """A token that lasts; refreshed at most once among all processes, and never with a refresh token that
        was spent.
        """
        if self._lasts(credential):
            return credential
        found = credential
        try:
            async with self.keep.refreshing(credential.id):
                found = self._stored(provider, credential)
                if not self._lasts(found):
                    found = await self._renewed(provider, found)
        except StoreError as error:
            raise CredentialUnavailable(str(error)) from error
        return found

    def _stored(self, provider: str, credential: Credential) -> Credential:
        """The credential as the file has it now: another process may have refreshed it meanwhile."""
        found = next((one for one in self.keep.credentials(provider) if one.id == credential.id), None)
        if found is None:
            raise CredentialUnavailable(
                f"The sign-in {credential.label or credential.id} of {provider} has been removed.", final=True
            )
        self.known.learn(found.secret, found.refresh_token)
        return found

    def _lasts(self, credential: Credential) -> bool:
        return bool(credential.secret) and (
            credential.expires_at is None or credential.expires_at - EARLY_SECONDS > self.now()
        )

    async def _renewed(self, provider: str, old: Credential) -> Credential:
        if not (old.refresh_token and old.token_url):
            raise CredentialUnavailable(
                f"The sign-in to {provider} has run out; renew it with: hermes auth add {provider}",
                final=True,
            )
        with anyio.CancelScope(
            shield=True
        ):  # once the endpoint has answered the old token is spent: the new one must be written
            try:
                found = await oauth.refresh(
                    self.http, old.token_url, old.client_id, old.refresh_token, now=self.now()
                )
            except oauth.SignInError as error:
                hint = f" Sign in again with: hermes auth add {provider}" if error.final else ""
                raise CredentialUnavailable(
                    f"{self.known.redact(str(error))}{hint}", final=error.final
                ) from error
            fresh = replace(
                old, secret=found.access, refresh_token=found.refresh, expires_at=found.expires_at
            )
            await anyio.to_thread.run_sync(
                self.keep.change,
                provider,
                old.id,
                lambda one: replace(
                    one, secret=fresh.secret, refresh_token=fresh.refresh_token, expires_at=fresh.expires_at
                ),
            )
        return fresh


async def _from_keyring(provider: str, credential: Credential) -> str:
    try:
        get = import_object("keyring:get_password", extra="keyring")
        found = await anyio.to_thread.run_sync(get, KEYRING_SERVICE, f"{provider}/{credential.id}")
    except Missing as error:
        raise CredentialUnavailable(str(error)) from error
    except import_object("keyring.errors:KeyringError") as error:
        raise CredentialUnavailable(
            f"The key ring does not give the key of {provider} ({type(error).__name__}); unlock it and try"
            " again."
        ) from error
    if not found:
        raise CredentialUnavailable(
            f"The key ring has no key for {provider}; add it with: hermes auth add {provider} --keyring",
            final=True,
        )
    return str(found)


class PooledKeys(Abridged, Struct, kw_only=True):
    """The pool as the executor uses it: a secret to try, and what to do when it failed."""

    unshown: ClassVar = ("_given",)

    pool: Pool
    resolver: SecretResolver
    _trouble: str = ""
    _given: dict[str, Credential] = field(default_factory=dict)
    _forced: dict[str, float] = field(default_factory=dict)

    async def take(self) -> str | None:
        """A secret to use now, refreshed if it had to be; None when there is none, and `trouble` may say
        why.
        """
        self._trouble = ""
        for _ in range(len(self.pool.entries())):
            now = self.resolver.now()
            if self.pool.writes_next:
                credential = await anyio.to_thread.run_sync(self.pool.take, now)
            else:
                credential = self.pool.take(now)
            if credential is None:
                return None
            try:
                opened = await self.resolver.open(self.pool.provider, credential)
            except CredentialUnavailable as error:
                self._trouble = str(error)
                reason = Failure(
                    reason="auth_permanent" if error.final else "auth",
                    message=str(error),
                    reset_at=self.resolver.now() + RETRY_SECONDS,
                )
                await anyio.to_thread.run_sync(self.pool.report, credential, reason, now)
                continue
            self._given[opened.secret] = opened
            return opened.secret
        return None

    async def failed(self, credential: str, failure: Failure) -> bool:
        """Note a failure; whether another credential, or this one renewed, may be tried at once."""
        given = self._given.pop(credential, None)
        if given is None:
            return False
        self.resolver.forget(given)
        # a token can be revoked before its time: it is renewed once, then it cools down like any key
        if (
            failure.reason == "auth"
            and given.kind == "oauth"
            and given.refresh_token
            and self._forced.get(given.id, 0.0) + KEPT_SECONDS < self.resolver.now()
        ):
            self._forced[given.id] = self.resolver.now()
            # to be refreshed before its next use, unless another process has done so already
            await anyio.to_thread.run_sync(
                self.pool.keep.change,
                self.pool.provider,
                given.id,
                lambda one: replace(one, expires_at=0.0) if one.secret == credential else one,
            )
            return True
        await anyio.to_thread.run_sync(self.pool.report, given, failure, self.resolver.now())
        return self.pool.rotatable(failure) and any(
            one.usable(self.resolver.now()) for one in self.pool.entries() if one.id != given.id
        )

    def reset_at(self) -> float | None:
        """When the next credential may be used again, in epoch seconds, while none may."""
        return self.pool.reset_at(self.resolver.now())

    def trouble(self) -> str:
        """Why the last credential could not be opened, or why one is never used again, in a sentence."""
        dead = (one.last_error for one in self.pool.entries() if one.status == "dead")
        return self._trouble or next(dead, "")
