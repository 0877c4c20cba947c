"""The ways that requests of one home may go: endpoints with their keys, fallbacks, breakers and what is known
of their windows.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from msgspec import Struct, field

from hermes.config.sections import Settings
from hermes.lib.aio import Async
from hermes.lib.lazy import import_object
from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import SecretValues
from hermes.models.auth.credentials import Pool, environment_keys
from hermes.models.catalog.catalogue import known_models, known_provider, known_providers
from hermes.models.catalog.context_limits import ContextLimits, measured
from hermes.models.catalog.endpoint import fallbacks, located, resolve
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.models.reliability.route import Breakers, KeySource, OneKey, Route, Target
from hermes.models.settings import ModelSettings, ProviderSettings
from hermes.models.transports.common.encoding import encode
from hermes.models.transports.registry import transport_for
from hermes.store.auth import AuthFile
from hermes.types.ports import Ports
from hermes.types.request import Endpoint, Request

if TYPE_CHECKING:
    from hermes.models.auth.resolver import PooledKeys

Prepare = Callable[[Endpoint], Awaitable[Endpoint]]


class Routes(Struct, kw_only=True):
    """Makes the routes of one runtime's sessions and side calls; what they learn of keys, servers and windows
    is shared. `named_at` is where the settings name their model.
    """

    settings: Settings
    environ: dict[str, str]
    http: httpx2.AsyncClient
    auth: AuthFile
    ports: Ports
    windows: ContextLimits
    breakers: Breakers
    spawn: Callable[[Async[Any]], object]
    known: SecretValues
    named_at: str = ""
    _keys: "dict[str, PooledKeys]" = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def endpoint(self, model: str = "", base_url: str = "") -> Endpoint:
        """The endpoint that a choice, or the settings, lead to, with the window that is known of it;
        ConfigError when it cannot be had.
        """
        stored = self.auth.providers()
        return self._measured(self._resolved(model, base_url, stored))

    def unkeyed(self, model: str = "", base_url: str = "") -> Endpoint:
        """The same where nothing is going to be sent, so that no key is needed."""
        return self._measured(self._resolved(model, base_url, known_providers(self.settings)))

    def _resolved(self, model: str, base_url: str, stored: Collection[str]) -> Endpoint:
        with located(self.settings, self.named_at, model or base_url):
            return resolve(self.settings, self.environ, model=model, base_url=base_url, stored=stored)

    def route_for(self, endpoint: Endpoint, prepare: Prepare, session_id: str) -> Route:
        """A session's route: its endpoint, then the fallbacks of the settings."""
        others = (
            fallbacks(self.settings, self.environ, stored=self.auth.providers())
            if self.settings[ProviderSettings].fallback_providers
            else ()
        )
        measured = map(self._measured, others)
        return self.chain_for((endpoint, *(one for one in measured if one != endpoint)), prepare, session_id)

    def chain_for(self, endpoints: Sequence[Endpoint], prepare: Prepare, session_id: str = "") -> Route:
        """A route over these endpoints; plugins of providers are told whose session it is.

        What is not known of a server's window is asked in the background, after its first reply.
        """
        targets = [
            Target(endpoint=self._measured(one), keys=self._keys_of(one), prepare=prepare)
            for one in endpoints
        ]
        return Route(
            targets=targets,
            make=transport_for,
            breakers=self.breakers,
            measured=self._measured,
            learn=self.windows.learn,
            reached=self._reached,
            shape=self._shaped if self.settings[PluginProviders].by_name else None,
            session_id=session_id,
        )

    async def _shaped(self, body: bytes, request: Request, session_id: str) -> bytes:
        """The body as the plugin of its provider wants it."""
        code = self.settings[PluginProviders].code_of(request.endpoint.provider)
        if code is None or not code.shapes or request.endpoint.protocol != "chat_completions":
            return body
        return encode(await code.shaped(msgspec.json.decode(body), request, session_id))

    def _measured(self, endpoint: Endpoint) -> Endpoint:
        return measured(endpoint, self.settings, self.windows.of(endpoint))

    def _reached(self, endpoint: Endpoint) -> None:
        if endpoint.base_url in self._seen:
            return
        self._seen.add(endpoint.base_url)
        known = known_models(self.settings, of=endpoint.provider)
        listed = endpoint.full_name in known
        fixed = endpoint.local or self.settings[ModelSettings].context_window
        if not (listed or fixed or self.windows.of(endpoint)):
            self.spawn(partial(self.windows.ask, endpoint))

    def _keys_of(self, endpoint: Endpoint) -> KeySource:
        """The provider's pool; an endpoint with a key of its own keeps to that."""
        self.known.learn(endpoint.credential, *_secret_headers(endpoint))
        provider = known_provider(endpoint.provider, self.settings)
        environment = environment_keys(provider, self.environ) if provider else ()
        own = endpoint.credential and endpoint.credential not in {one.secret for one in environment}
        stored = any(not one.from_environment for one in self.auth.credentials(endpoint.provider))
        if provider is None or own or (len(environment) <= 1 and not stored and not provider.key_command):
            return OneKey(endpoint.credential)
        if provider.name not in self._keys:
            strategies = self.settings[ProviderSettings].credential_pool_strategies
            pool = Pool(
                provider=provider.name,
                keep=self.auth,
                uniform=self.ports.uniform,
                environment=environment,
                strategy=strategies.get(provider.name, "fill_first"),
                account_quota=provider.quota == "account",
            )
            pooled = import_object("hermes.models.auth.resolver")  # most have one key, or none
            resolver = pooled.SecretResolver(
                http=self.http, keep=self.auth, environ=self.environ, now=self.ports.now, known=self.known
            )
            self._keys[provider.name] = pooled.PooledKeys(pool=pool, resolver=resolver)
        return self._keys[provider.name]

    def learn_secrets(self) -> None:
        """Know every key and token of auth.json, so that none of them is ever shown."""
        self.known.learn(*self.auth.secrets())

    def close(self) -> None:
        """Write what the pools have only counted so far."""
        for keys in self._keys.values():
            keys.pool.flush()


def _secret_headers(endpoint: Endpoint) -> Iterator[str]:
    """The values of headers whose names say that they open a door, and what stands in them behind a word such
    as Bearer.
    """
    for name, value in endpoint.headers.items():
        if is_secret_name(name.replace("-", "_")) or "authorization" in name.lower():
            yield from (value, value.rpartition(" ")[2])
