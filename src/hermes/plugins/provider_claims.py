"""What a plugin's provider of models may call its own: names and variables that are nobody else's."""

from collections.abc import Iterator, Mapping
from typing import Final

from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.models.catalog.catalogue import Provider, known_providers, providers
from hermes.models.catalog.endpoint import LOCAL
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.models.settings import OwnProvider, ProviderSettings
from hermes.plugins.variable_owners import others_of
from hermes.types.error import PluginError
from hermes.types.request import CUSTOM

_LEAVE: Final = "plugins.entries.{}.allow_model_provider_override: true lets this plugin replace ours"


def check_claims(found: Provider, plugin: str, home: Home, settings: Settings, *, may_replace: bool) -> None:
    """PluginError where a provider's names, or the variables of its key, are those of another: a key that is
    meant for one company is sent to nobody else. With the user's leave only other plugins' are.
    """
    guests = settings[PluginProviders].by_name
    others = guests if may_replace else _others(found, settings)
    known = {one.lower() for other in others.values() for one in (other.name, *other.aliases)}
    names = {found.name, *found.aliases}
    taken = sorted(one for one in names if one.lower() in {*known, CUSTOM, LOCAL})
    owned = {} if taken else dict(_owned(found, others, plugin, home, None if may_replace else settings))
    if not taken and not owned:
        return
    why = "".join(f" ({name} is {owners})" for name, owners in owned.items())
    words = f"{', '.join([*taken, *owned])} of the provider of models {found.name} belongs to another{why}"
    raise PluginError(f"{words}; {_LEAVE.format(plugin)}.", plugin=plugin, phase="load")


def _others(found: Provider, settings: Settings) -> Mapping[str, Provider]:
    """The other providers; what the user only sets of this one is none."""
    own, guests = settings[ProviderSettings].by_name(), settings[PluginProviders].by_name
    mine = {
        name
        for name in (found.name, *found.aliases)
        if name in own and name not in {**providers(), **guests} and not _is_whole(own[name])
    }
    return {name: one for name, one in known_providers(settings).items() if name not in mine}


def _is_whole(given: OwnProvider) -> bool:
    """Whether what the user has set of a provider needs nothing of a plugin: its address and its key."""
    return bool(given.base_url and (given.api_key_env or given.api_key_command))


def _owned(
    found: Provider, others: Mapping[str, Provider], plugin: str, home: Home, settings: Settings | None
) -> Iterator[tuple[str, str]]:
    """The variables of its key that are something else's, each with what it is besides."""
    for name in sorted({*found.keys}):
        owners = [f"a key of the provider {one.name}" for one in others.values() if name in one.keys]
        if settings is not None:
            owners += others_of(name, plugin, home, settings)
        if owners:
            yield name, " and ".join(dict.fromkeys(owners))
