"""What a variable that a skill or a plugin asks for belongs to already: its value goes to that, too."""

from collections.abc import Iterator

from hermes.config.home import Home
from hermes.config.load import variables_in
from hermes.config.sections import Settings
from hermes.config.sensitive import sensitive
from hermes.environments.child_env import group_of
from hermes.environments.settings import TerminalSettings
from hermes.lib.small_files import read_small
from hermes.models.catalog.catalogue import known_providers
from hermes.plugins.discovery import find_plugins
from hermes.plugins.settings import PluginSettings
from hermes.skills.skill_file import Skill


def owned_already(skill: Skill, home: Home, settings: Settings) -> list[str]:
    """The variables of a skill that are something else's as well, a sentence each."""
    every = ((one.name, owners_of(one.name, home, settings)) for one in skill.variables)
    return [f"it asks for {name}, which is {' and '.join(owners)}" for name, owners in every if owners]


def owners_of(name: str, home: Home, settings: Settings) -> tuple[str, ...]:
    """What a variable is besides, in words; nothing where nobody else uses it."""
    return (*_of_providers(name, settings), *others_of(name, "", home, settings))


def others_of(name: str, plugin: str, home: Home, settings: Settings) -> tuple[str, ...]:
    """The same but for keys of providers, and for what it is to that plugin."""
    return (
        *(f"a credential of {program}" for program, names in sensitive().variables.items() if name in names),
        *(["a variable that commands get"] if group_of(name) else ()),
        *_of_plugins(name, plugin, home, settings),
        *_of_settings(name, home, settings),
    )


def _of_providers(name: str, settings: Settings) -> Iterator[str]:
    for one in known_providers(settings).values():
        if name in one.keys:
            yield f"a key of the provider {one.name}"


def _of_plugins(name: str, but: str, home: Home, settings: Settings) -> Iterator[str]:
    chosen = settings[PluginSettings]
    for one in find_plugins(home.plugins, None) if chosen.enabled else ():
        manifest = one.manifest
        if (
            manifest
            and one.key != but
            and chosen.is_enabled(one.key)
            and name in {*manifest.requires_env, *manifest.optional_env}
        ):
            yield f"a variable of the plugin {one.key}"


def _of_settings(name: str, home: Home, settings: Settings) -> Iterator[str]:
    if home.config_file.is_file() and name in variables_in(read_small(home.config_file).decode()):
        yield f"a part of {home.config_file.name}"
    if name in settings[TerminalSettings].env_passthrough:
        yield "given to commands (terminal.env_passthrough)"
