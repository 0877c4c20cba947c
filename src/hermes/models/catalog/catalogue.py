"""Providers and well-known models, out of the package's data and what the user knows better."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.config.sections import Settings
from hermes.lib.data_files import data_table
from hermes.lib.nearest import nearest
from hermes.models.catalog.plugin_providers import PluginProviders, ProviderCode
from hermes.models.settings import OwnModel, OwnProvider, ProviderSettings
from hermes.types.error import ConfigError
from hermes.types.profile import PLAIN, Price, Profile
from hermes.types.request import CUSTOM, Auth, Protocol

DEFAULT_WINDOW = 128_000
UNNAMED = "default"
"""The model that a server is asked for when nobody named one; it is of no family."""


class Family(Struct, frozen=True, kw_only=True):
    """Models in whose name the regular expression `pattern` is found: their window in tokens and their
    profile.
    """

    pattern: str
    window: int
    profile: Profile


@cache
def families() -> tuple[Family, ...]:
    """The table, in order: the first pattern that fits counts."""
    return tuple(_family(row) for row in _tables()["family"])


def profile_of(model: str, provider: str = "") -> Profile:
    """The profile of a model, with what its provider changes; PLAIN when nothing is known."""
    found = _find(model)
    profile = found.profile if found else PLAIN
    changes = _changes(provider, profile.family)
    return (
        replace(
            profile,
            **{
                name: getattr(msgspec.convert({name: value}, Profile), name)
                for name, value in changes.items()
            },
        )
        if changes
        else profile
    )


def _changes(provider: str, family: str) -> Mapping[str, Any]:
    """What a provider changes for all its models, and for those of one family."""
    row = {} if provider == CUSTOM else _tables().get("provider", {}).get(provider, {})
    every = {name: value for name, value in row.items() if name != "family"}
    return {**every, **row.get("family", {}).get(family, {})}


def window_of(model: str) -> int:
    """The window in tokens; 128,000 when nothing is known."""
    found = _find(model)
    return found.window if found else DEFAULT_WINDOW


@cache
def _tables() -> dict[str, Any]:
    return data_table("families.toml")


def _family(row: Mapping[str, Any]) -> Family:
    rest = {name: value for name, value in row.items() if name not in {"pattern", "window"}}
    return Family(pattern=row["pattern"], window=row["window"], profile=msgspec.convert(rest, Profile))


def _find(model: str) -> Family | None:
    known, lower = () if model == UNNAMED else families(), model.lower()
    return next((family for family in known if re.search(family.pattern, lower)), None)


Entry = Literal["api_key", "device_code", "pkce", "aws", "external"]
"""How one gets in: with a key, by signing in, by the cloud's own tools, or in a way that `Provider.how`
tells.
"""

_VARIABLE = re.compile(r"\$\{([\w|]+)(?::-([^}]*))?\}")
_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$")


class SignIn(Struct, frozen=True, kw_only=True):
    """Where and as whom to sign in; what is empty is not known.

    `parameters` go with the authorization request.
    """

    client_id: str = ""
    device_url: str = ""
    authorize_url: str = ""
    token_url: str = ""
    scope: str = ""
    redirect_host: str = "127.0.0.1"
    redirect_port: int = 0
    redirect_path: str = "/callback"
    parameters: Mapping[str, str] = field(default_factory=dict)


class TokenForm(Struct, frozen=True, kw_only=True):
    """Credentials that begin with `prefix` travel in another way, with more headers."""

    prefix: str
    auth: Auth
    headers: Mapping[str, str] = field(default_factory=dict)


class Provider(Struct, frozen=True, kw_only=True):
    """One place that serves models; data/providers.toml says what each field means.

    Of a plugin's provider `code` is what the plugin does for it, `models` are names it serves, and `fixed`,
    `omits` and `vision` change the profiles of its models.
    """

    name: str
    base_url: str
    title: str = ""
    protocol: Protocol | None = None
    auth: Auth = "bearer"
    keys: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    keyless: bool = False
    hosts: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    small: str = ""
    signup: str = ""
    kind: Entry = "api_key"
    how: str = ""
    quota: Literal["key", "account"] = "key"
    unsupported: str = ""
    account_claim: str = ""
    account_header: str = ""
    sign_in: SignIn = field(default_factory=SignIn)
    token: tuple[TokenForm, ...] = ()
    key_command: tuple[str, ...] = ()
    ca_cert: str = ""
    own: bool = False
    models: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    omits: frozenset[str] = frozenset()
    vision: bool | None = None
    code: ProviderCode | None = None


class Model(Struct, frozen=True, kw_only=True):
    """A model as its provider names it; 0, None and empty mean that nobody says."""

    provider: str
    id: str
    window: int = 0
    max_output: int = 0
    price: Price | None = None
    family: str = ""
    own: bool = False

    @property
    def name(self) -> str:
        """How a person writes it."""
        return f"{self.provider}/{self.id}"


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider of the package's data by its name."""
    return {
        name: msgspec.convert({**row, "name": name}, Provider) for name, row in _table("providers").items()
    }


@cache
def models() -> Mapping[str, Model]:
    """Every model of the package's data by `provider/id`."""
    found = [
        _model(provider, id_, row) for provider, rows in _table("models").items() for id_, row in rows.items()
    ]
    return {model.name: model for model in found}


def known_providers(settings: Settings) -> Mapping[str, Provider]:
    """The providers of the data, those of plugins, and the user's own, whose fields win."""
    found = {**providers(), **settings[PluginProviders].by_name}
    own = settings[ProviderSettings].by_name()
    for name, given in own.items():
        if not name:
            raise ConfigError(
                "An entry of custom_providers has no name; give it one, it is what comes before the / in a"
                " model."
            )
        base = (
            found.get(name)
            or _by_alias(found).get(name)
            or Provider(name=name, base_url="", keyless=True, own=True)
        )
        found[base.name] = _overridden(base, given)
    return found


def known_provider(name: str, settings: Settings) -> Provider | None:
    """The provider of exactly that name; the table is not read for what it does not speak of."""
    if name == CUSTOM and name not in settings[ProviderSettings].by_name():
        return None
    return known_providers(settings).get(name)


def known_models(settings: Settings, *, of: str = "") -> Mapping[str, Model]:
    """The models of the data and those the user knows, whose word wins; all, or at least those of one
    provider.
    """
    found = {} if of == CUSTOM else dict(models())
    for guest in settings[PluginProviders].by_name.values():
        listed_by = (Model(provider=guest.name, id=one) for one in guest.models)
        found |= {one.name: found.get(one.name, one) for one in listed_by}
    listed = settings[ProviderSettings].by_name()
    own = [
        (f"{name}/{id_}", told)
        for name, given in listed.items()
        for id_, told in (
            dict.fromkeys(given.models, OwnModel()) if isinstance(given.models, list) else given.models
        ).items()
    ]
    for name, told in [*own, *settings[ProviderSettings].models.items()]:
        provider, _, id_ = name.partition("/")
        if not id_:
            raise ConfigError(f"models: {name!r} names no provider; write provider/{name}.", key="models")
        base = found.get(name) or Model(provider=provider, id=id_)
        price = Price(**msgspec.structs.asdict(told.price)) if told.price else base.price
        window, cap = told.context_window or base.window, told.max_output or base.max_output
        found[name] = replace(
            base, window=window, max_output=cap, price=price, family=told.family or base.family, own=True
        )
    return found


def provider(name: str, known: Mapping[str, Provider] | None = None) -> Provider:
    """The provider of that name or alias; ConfigError names the nearest."""
    known = providers() if known is None else known
    found = known.get(name) or _by_alias(known).get(name)
    if found:
        return found
    near = nearest(name, [*known, *_by_alias(known), "local"])
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ConfigError(
        f"There is no provider {name!r}.{hint} hermes models list shows them; for your own server give"
        " --base-url."
    )


def model_of(provider: str, id_: str, known: Mapping[str, Model]) -> Model:
    """What is known of a model; a dated name is known as its undated one, and an unknown one as nothing but
    its name.
    """
    folded = {name.lower(): model for name, model in known.items()}
    name = f"{provider}/{id_}".lower()
    found = folded.get(name) or folded.get(_DATE.sub("", name))
    return replace(found, id=id_) if found else Model(provider=provider, id=id_)


def models_of(provider: str, known: Mapping[str, Model]) -> list[Model]:
    """The known models of one provider, in the order of the data."""
    return [one for one in known.values() if one.provider == provider]


def address(provider: Provider, environ: Mapping[str, str]) -> str:
    """The provider's base address with variables filled in; ConfigError names the one that is missing."""

    def value(found: re.Match[str]) -> str:
        names = found[1].split("|")
        given = next((environ[name] for name in names if environ.get(name)), found[2])
        if given is None:
            raise ConfigError(
                f"{provider.name} has no address yet: set {names[0]} in the environment or in .env."
            )
        return given

    return _VARIABLE.sub(value, provider.base_url)


def key_of(provider: Provider, environ: Mapping[str, str]) -> tuple[str, str]:
    """The first key variable that is set and its value; two empty texts where none is."""
    return next(((name, environ[name]) for name in provider.keys if environ.get(name)), ("", ""))


def profile_at(found: Provider, model: str) -> Profile:
    """The profile of a model as this provider serves it."""
    profile = profile_of(model, found.name)
    return replace(
        profile,
        fixed={**profile.fixed, **found.fixed},
        omits=profile.omits | found.omits,
        vision=profile.vision if found.vision is None else found.vision,
    )


def search(words: Iterable[str], known: Iterable[Model]) -> list[Model]:
    """The models whose name has all of the words in it, in any order and case; the shortest names first."""
    wanted = [word.lower() for word in words]
    return sorted(
        (one for one in known if all(word in one.name.lower() for word in wanted)),
        key=lambda one: (len(one.id), one.name),
    )


def _by_alias(known: Mapping[str, Provider]) -> dict[str, Provider]:
    return {alias: entry for entry in known.values() for alias in entry.aliases}


def _overridden(base: Provider, given: OwnProvider) -> Provider:
    command = given.api_key_command
    told = {name: value for name, value in msgspec.structs.asdict(given.sign_in).items() if value}
    return replace(
        base,
        base_url=given.base_url or base.base_url,
        protocol=given.protocol or base.protocol,
        keys=(given.api_key_env,) if given.api_key_env else base.keys,
        keyless=base.keyless and not given.api_key_env,
        headers={**base.headers, **given.headers},
        extra_body={**base.extra_body, **given.extra_body},
        key_command=tuple(command.split()) if isinstance(command, str) else tuple(command),
        ca_cert=given.ca_cert,
        sign_in=replace(base.sign_in, **told),
    )


def _model(provider: str, id_: str, row: Mapping[str, Any]) -> Model:
    price = {name: value for name, value in row.items() if name in Price.__struct_fields__}
    rest = {name: value for name, value in row.items() if name not in price}
    return Model(provider=provider, id=id_, price=msgspec.convert(price, Price) if price else None, **rest)


def _table(name: str) -> dict[str, Any]:
    return data_table(f"{name}.toml")
