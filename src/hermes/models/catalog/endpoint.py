"""From what the user chose to an Endpoint."""

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hermes.config.sections import Settings
from hermes.lib.data_files import data_table
from hermes.lib.hosts import is_loopback
from hermes.lib.lazy import import_object
from hermes.models.catalog.catalogue import (
    UNNAMED,
    Model,
    Provider,
    address,
    key_of,
    known_models,
    known_provider,
    known_providers,
    model_of,
    profile_at,
    profile_of,
    provider,
    providers,
    window_of,
)
from hermes.models.settings import Fallback, ModelSettings, ProviderSettings, WireName
from hermes.types.error import ConfigError
from hermes.types.profile import Price
from hermes.types.request import CUSTOM, Endpoint, Protocol

LOCAL = "local"
LOCAL_WINDOW = 8192


class AddressRule(Struct, frozen=True):
    """An address whose host, path and model match speaks `protocol`."""

    host: str
    path: str
    model: str
    protocol: Protocol

    def fits(self, base_url: str, model: str) -> bool:
        """Whether the rule speaks of this address and model."""
        parts = urlsplit(base_url)
        asked = (
            (self.host, parts.hostname or ""),
            (self.path, parts.path.rstrip("/")),
            (self.model, model.lower()),
        )
        return all(re.search(pattern, text) for pattern, text in asked)


RULES: tuple[AddressRule, ...] = (
    AddressRule(r"^api\.anthropic\.com$", "", "", "anthropic_messages"),
    AddressRule("", r"/anthropic(/v1)?$", "", "anthropic_messages"),
    AddressRule(r"^bedrock-runtime[.-].+\.amazonaws\.com(\.cn)?$", "", "", "bedrock_converse"),
    AddressRule("", r"/backend-api/codex", "", "codex_responses"),
    AddressRule(r"^api\.openai\.com$", "", r"^gpt-([5-9]|\d\d)", "codex_responses"),
)
"""What an address tells; the first that fits counts, and everything else speaks chat completions."""


class Catalog(Struct, frozen=True, kw_only=True):
    """All that a choice is looked up in; `stored` names the providers that have credentials in auth.json.

    The tables are read when they are asked: an address of one's own needs none of them.
    """

    settings: Settings
    environ: Mapping[str, str]
    stored: Collection[str] = ()

    @property
    def providers(self) -> Mapping[str, Provider]:
        """By their names."""
        return known_providers(self.settings)

    @property
    def provider_names(self) -> frozenset[str]:
        """Their names and aliases."""
        found = self.providers
        return frozenset((*found, *(alias for one in found.values() for alias in one.aliases)))

    @property
    def models(self) -> Mapping[str, Model]:
        """By `provider/id`."""
        return known_models(self.settings)

    def model(self, found: Provider, id_: str) -> Model:
        """What is known of a provider's model."""
        return model_of(found.name, id_, known_models(self.settings, of=found.name))


def resolve(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    model: str = "",
    base_url: str = "",
    stored: Collection[str] = (),
) -> Endpoint:
    """The endpoint in force; ConfigError with one sentence when what was asked for cannot be had.

    `model` and `base_url` are flags and win over settings. With nothing chosen it is the built-in local
    model; its endpoint has no address until the model is running. `credential` is the first key of the
    environment; it is empty where the credential comes from auth.json or a command.
    """
    own = settings[ModelSettings]
    known = Catalog(settings=settings, environ=environ, stored=stored)
    chosen = model or own.default
    place = base_url or ("" if own.base_url and _names_provider(model, known) else own.base_url)
    if not place and _is_local(chosen):
        return _limits(_local(chosen), own)
    if place:
        return _limits(_own_server(chosen, place, own.api_key_env, known), own, protocol=own.protocol)
    return _limits(_hosted(*_found(chosen, known), known), own, protocol="" if model else own.protocol)


@contextmanager
def located(settings: Settings, origin: str, chosen: str) -> Iterator[None]:
    """Say where the settings name the model that cannot be had, unless another was `chosen`."""
    try:
        yield
    except ConfigError as error:
        named = settings[ModelSettings].default
        if chosen or not named:
            raise
        raise ConfigError(f"{error} {named} is what model.default says ({origin}).") from error


def fallbacks(
    settings: Settings, environ: Mapping[str, str], *, stored: Collection[str] = ()
) -> tuple[Endpoint, ...]:
    """The endpoints to go on with, in the order of `fallback_providers`; ConfigError names the one that
    cannot be had.
    """
    known = Catalog(settings=settings, environ=environ, stored=stored)
    listed = settings[ProviderSettings].fallback_providers
    return tuple(_fallback(entry, known, number) for number, entry in enumerate(listed, start=1))


def local(model: str) -> Endpoint:
    """The endpoint of a model that runs on this machine; `model` is an alias, a path, or empty for the
    default, which has a name of its own.
    """
    return Endpoint(
        provider=LOCAL,
        base_url="",
        model=model or data_table("local_models.toml")["default"],
        local=True,
        calls="constrained",
        price=Price(input=0.0, output=0.0),
        context_window=LOCAL_WINDOW,
    )


def protocol_of(found: Provider, base_url: str, model: str) -> Protocol:
    """The wire that is spoken there: the provider's own, else what the address tells."""
    told = next((rule.protocol for rule in RULES if rule.fits(base_url, model)), None)
    return found.protocol or told or "chat_completions"


def with_credential(endpoint: Endpoint, credential: str) -> Endpoint:
    """The endpoint with this credential, in the header that its kind wants; the same object where nothing
    changes.
    """
    if endpoint.credential == credential:
        return endpoint
    found = providers().get(endpoint.provider)
    changed = replace(endpoint, credential=credential)
    if found is None:
        return changed
    form = next((one for one in found.token if credential.startswith(one.prefix)), None)
    auth, more = (form.auth, dict(form.headers)) if form else (found.auth, {})
    account = _account(credential, found.account_claim)
    if account:
        more[found.account_header] = account
    return replace(changed, auth=auth, headers={**endpoint.headers, **more})


def sibling(endpoint: Endpoint, model: str, settings: Settings) -> Endpoint:
    """Another model at the same address with the same credential; what is not known of it is taken to be as
    the endpoint has it.
    """
    told = model_of(endpoint.provider, model, known_models(settings, of=endpoint.provider))
    kind = told.family or model
    found = known_provider(endpoint.provider, settings)
    profile = profile_at(found, kind) if found else profile_of(kind, endpoint.provider)
    by_name = window_of(kind) if profile.family else endpoint.context_window
    return replace(
        endpoint,
        model=model,
        profile=profile,
        price=told.price,
        context_window=told.window or by_name,
        max_output=told.max_output or endpoint.max_output,
    )


def _names_provider(model: str, known: Catalog) -> bool:
    """Whether what is before the slash is a provider; servers of one's own have names with slashes, too."""
    name, slash, _ = model.partition("/")
    return bool(slash) and (name == LOCAL or name in known.provider_names)


def _is_local(chosen: str) -> bool:
    return not chosen or chosen.partition("/")[0] == LOCAL or chosen.endswith(".gguf")


def _local(chosen: str) -> Endpoint:
    name, _, rest = chosen.partition("/")
    return _checked(rest if name == LOCAL else chosen)


def _checked(model: str) -> Endpoint:
    """As `local`; ConfigError where no model of the catalogue and no file has that name."""
    if model:
        import_object("hermes.models.local.catalogue:find")(model)
    return local(model)


def _found(chosen: str, known: Catalog) -> tuple[Provider, str]:
    """The provider and the model that a name means: `provider/model`, or a model that only one provider
    has.
    """
    name, _, rest = chosen.partition("/")
    if rest and name in known.provider_names:
        return provider(name, known.providers), rest
    having = [one for one in known.models.values() if one.id.lower() == chosen.lower()]
    if len(having) == 1:
        return provider(having[0].provider, known.providers), having[0].id
    if having:
        raise ConfigError(
            f"Model {chosen!r} is served by several providers; write {_listed([one.name for one in having])}."
        )
    if rest:
        return provider(name, known.providers), rest
    raise ConfigError(
        f"Model {chosen!r} names no provider; write provider/name, such as openrouter/{chosen}, or give"
        " --base-url."
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _hosted(
    found: Provider, model: str, known: Catalog, *, base_url: str = "", key_env: str = ""
) -> Endpoint:
    if found.unsupported:
        raise ConfigError(found.unsupported)
    place = base_url or address(found, known.environ)
    if not place:
        raise ConfigError(
            f"{found.name} has no address; set it with: hermes config set providers.{found.name}.base_url URL"
        )
    key = known.environ.get(key_env, "") if key_env else key_of(found, known.environ)[1]
    if not (key or found.keyless or found.key_command or found.name in known.stored):
        raise ConfigError(_no_key(found, key_env))
    return _endpoint(found, model, place, key, known)


def _endpoint(found: Provider, model: str, place: str, key: str, known: Catalog) -> Endpoint:
    told = known.model(found, model)
    kind = told.family or model
    return with_credential(
        Endpoint(
            provider=found.name,
            base_url=place,
            model=model,
            protocol=protocol_of(found, place, model),
            profile=profile_at(found, kind),
            price=told.price,
            auth=found.auth,
            extra_body=found.extra_body,
            context_window=told.window or window_of(kind),
            max_output=told.max_output or None,
            headers=found.headers,
        ),
        key,
    )


def _no_key(found: Provider, key_env: str) -> str:
    name = key_env or next(iter(found.keys), "")
    ways = [f"set {name} in the environment or in .env (hermes config set {name} KEY)"] if name else []
    if found.kind in {"device_code", "pkce"}:
        ways.append(f"sign in with: hermes auth add {found.name}")
    elif found.kind == "api_key" and not key_env:
        ways.append(f"store it with: hermes auth add {found.name}")
    return (
        f"No key for {found.name}: {', or '.join(ways)}. {found.how}".rstrip()
        if ways
        else f"No key for {found.name}. {found.how}"
    )


def _own_server(model: str, place: str, key_env: str, known: Catalog) -> Endpoint:
    parts = urlsplit(place)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"{place!r} is not an address; write it like http://127.0.0.1:8080/v1.")
    found = _at(parts.hostname or "", known) or Provider(name=CUSTOM, base_url=place, keyless=True, own=True)
    key = known.environ.get(key_env, "") if key_env else key_of(found, known.environ)[1]
    return _endpoint(found, model.removeprefix(f"{CUSTOM}/") or UNNAMED, place, key, known)


def _at(host: str, known: Catalog) -> Provider | None:
    """Whose address it is; a key meant for one company is sent to nobody else."""
    if is_loopback(host):
        return None
    return next(
        (
            one
            for one in known.providers.values()
            if any(
                fnmatchcase(host, owned) or host.endswith(f".{owned}") for owned in _hosts(one, known.environ)
            )
        ),
        None,
    )


def _hosts(found: Provider, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        own = urlsplit(address(found, environ)).hostname
    except ConfigError:
        own = None
    return (*found.hosts, own) if own else found.hosts


def _fallback(entry: str | Fallback, known: Catalog, number: int) -> Endpoint:
    try:
        if isinstance(entry, str):
            return _local(entry) if _is_local(entry) else _hosted(*_found(entry, known), known)
        if entry.provider == LOCAL:
            return _checked(entry.model)
        if entry.base_url and entry.provider in {"", CUSTOM}:
            return _own_server(entry.model, entry.base_url, entry.api_key_env, known)
        if not entry.provider:
            return _hosted(*_found(entry.model, known), known)
        found = provider(entry.provider, known.providers)
        return _hosted(found, entry.model, known, base_url=entry.base_url, key_env=entry.api_key_env)
    except ConfigError as error:
        raise ConfigError(f"fallback_providers, entry {number}: {error}", key="fallback_providers") from error


def _account(credential: str, claim: str) -> str:
    """The account that a token of ours names under `claim`; it is read, not checked: the provider does
    that.
    """
    middle = credential.split(".")[1] if claim and credential.count(".") == 2 else ""
    try:
        claims: Any = (
            json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4))) if middle else {}
        )
    except ValueError:
        return ""
    inner = claims.get(claim, {}) if isinstance(claims, dict) else {}
    return str(inner.get("chatgpt_account_id", "")) if isinstance(inner, dict) else ""


def _limits(endpoint: Endpoint, settings: ModelSettings, *, protocol: WireName = "") -> Endpoint:
    return replace(
        endpoint,
        context_window=settings.context_window or endpoint.context_window,
        max_output=settings.max_output or endpoint.max_output,
        protocol=protocol or endpoint.protocol,
    )
