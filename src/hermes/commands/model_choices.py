"""The models that a person may choose from: of the server in use, of this machine, of known providers."""

import logging
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.commands.model import ModelArgs
from hermes.config.sections import Settings
from hermes.lib.nearest import nearest
from hermes.models.catalog.catalogue import (
    Provider,
    address,
    key_of,
    known_models,
    known_providers,
    models_of,
    window_of,
)
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.models.local import catalogue
from hermes.models.transports.base import UnshapedError
from hermes.present.words import tokens
from hermes.store.auth import AuthFile
from hermes.types.error import ConfigError
from hermes.types.request import CUSTOM, Endpoint

if TYPE_CHECKING:
    from hermes.runtime import Runtime

logger = logging.getLogger(__name__)
_SHOWN_NAMES: Final = 6


class ModelChoice(Struct, frozen=True, kw_only=True):
    """One row: the name as a person writes it, what is known of it, and what is asked for when it is
    chosen.
    """

    name: str
    note: str
    wish: ModelArgs


def known_choices(
    settings: Settings, environ: Mapping[str, str], stored: Collection[str], cache: Path
) -> list[ModelChoice]:
    """The local models, then those of providers that have a key; `stored` names providers whose key is kept,
    `cache` is where local models are once they were fetched.
    """
    return [*_local(cache), *_known(settings, environ, stored)]


def served_choices(endpoint: Endpoint, names: Collection[str]) -> list[ModelChoice]:
    """The models of the server in use by the names that it has for them."""
    return [_served(endpoint, name) for name in names]


async def served_names(runtime: "Runtime", endpoint: Endpoint) -> tuple[str, ...]:
    """What the server in use lists, nothing where it does not say or is no server of this kind; a plugin asks
    that of its provider in its own way.
    """
    found = runtime.settings[PluginProviders].by_name.get(endpoint.provider)
    if found is not None and found.code is not None and found.code.lists:
        try:
            return await listed_by_plugin(found, runtime.environ, runtime.routes.auth)
        except UnshapedError as error:
            logger.warning("%s", error)
            return ()
    if endpoint.local or endpoint.protocol != "chat_completions":
        return ()
    return await runtime.routes.windows.names(endpoint)


async def listed_by_plugin(found: Provider, environ: Mapping[str, str], auth: AuthFile) -> tuple[str, ...]:
    """The models of a provider as its plugin lists them, none where that does not; UnshapedError where it
    fails.
    """
    if found.code is None or not found.code.lists:
        return ()
    stored = (one.secret for one in auth.credentials(found.name))
    key = key_of(found, environ)[1] or next(filter(None, stored), "")
    return await found.code.listed(key, address(found, environ))


async def chosen_endpoint(runtime: "Runtime", wish: ModelArgs) -> Endpoint:
    """The endpoint that a person asks for; ConfigError when it cannot be had, as where one's own server tells
    its models and has none of that name.
    """
    endpoint = runtime.endpoint(wish.model, wish.base_url)
    endpoint = replace(endpoint, credential=wish.key) if wish.key else endpoint
    if endpoint.provider == CUSTOM and endpoint.model:
        _check_served(endpoint, await served_names(runtime, endpoint))
    return endpoint


def _check_served(endpoint: Endpoint, names: Collection[str]) -> None:
    if not names or any(_serves(name, endpoint.model) for name in names):
        return
    near = nearest(endpoint.model, names, most=_SHOWN_NAMES)
    shown = near or [*names][:_SHOWN_NAMES]
    more = "" if near or len(names) <= _SHOWN_NAMES else " and more, which /model lists"
    raise ConfigError(f"{endpoint.base_url} has no model {endpoint.model}; it has {', '.join(shown)}{more}.")


def _serves(listed: str, wanted: str) -> bool:
    """Whether a name of a list means a model: gateways list patterns, and some servers a tag that may be left
    out.
    """
    return fnmatchcase(wanted, listed) or listed == f"{wanted}:latest"


def _served(endpoint: Endpoint, name: str) -> ModelChoice:
    if endpoint.provider == CUSTOM:
        wish = ModelArgs(model=name, base_url=endpoint.base_url, key=endpoint.credential)
        return ModelChoice(name=name, note="this server", wish=wish)
    whole = f"{endpoint.provider}/{name}"
    return ModelChoice(name=whole, note="this server", wish=ModelArgs(model=whole))


def _local(cache: Path) -> Iterator[ModelChoice]:
    for one in catalogue.entries():
        fetched = catalogue.location(one, cache).is_file()
        note = "on this machine" if fetched else f"{one.size / 1e6:,.0f} MB to fetch"
        yield ModelChoice(name=f"local/{one.alias}", note=note, wish=ModelArgs(model=f"local/{one.alias}"))


def _known(settings: Settings, environ: Mapping[str, str], stored: Collection[str]) -> Iterator[ModelChoice]:
    known = known_models(settings)
    for found in known_providers(settings).values():
        for one in models_of(found.name, known) if _has_key(found, environ, stored) else ():
            window = one.window or window_of(one.family or one.id)
            yield ModelChoice(
                name=one.name,
                note=f"{tokens(window)} tokens" if window else "",
                wish=ModelArgs(model=one.name),
            )


def _has_key(found: Provider, environ: Mapping[str, str], stored: Collection[str]) -> bool:
    has = bool(key_of(found, environ)[1] or found.key_command or found.own or found.name in stored)
    return has and not found.unsupported
