"""The plugins of a runtime: where none is enabled, nothing of them is looked for or imported."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.lib.lazy import import_object
from hermes.plugins.host import PluginHost
from hermes.plugins.settings import PluginSettings, ShellHookSettings

if TYPE_CHECKING:
    from hermes.plugins.context import PluginContext
    from hermes.plugins.discovery import FoundPlugin


class LoadedPlugin(Struct, frozen=True, kw_only=True):
    """A plugin and what became of it: `off` is one that is not enabled, `fault` what went wrong of the
    others, `provides` what they have added; `made_of` are the files and settings that it was loaded from.
    """

    found: "FoundPlugin"
    state: Literal["off", "loaded", "faulty"]
    fault: str = ""
    context: "PluginContext | None" = None
    made_of: object = None

    @property
    def provides(self) -> tuple[str, ...]:
        """What it has added, in words."""
        return tuple(self.context.provides) if self.context else ()

    @property
    def faults(self) -> tuple[str, ...]:
        """What went wrong, in sentences: what was refused of one that is loaded, too."""
        return (*filter(None, [self.fault]), *(self.context.refused if self.context else ()))

    def unload(self) -> None:
        """Take back what it has added."""
        if self.context is not None:
            self.context.withdraw()


async def plugged(home: Home, settings: Settings, host: PluginHost) -> tuple[LoadedPlugin, ...]:
    """The plugins of a home, loaded as far as they are enabled."""
    chosen = settings[PluginSettings]
    if not chosen.enabled or chosen.safe_mode:
        return ()
    return await every_plugin(home, settings, host)


async def replugged(
    home: Home, settings: Settings, host: PluginHost, had: Sequence[LoadedPlugin]
) -> tuple[LoadedPlugin, ...]:
    """The same where the settings and files may be others than for those that it `had`: those that are
    loaded, still enabled and made of the same stay as they are, the others are taken back, and whatever else
    is enabled is loaded.
    """
    chosen = settings[PluginSettings]
    loaded = {one.found.key: one for one in had if one.state == "loaded" and chosen.is_enabled(one.found.key)}
    stay = await _unchanged(loaded, home, settings, host) if loaded else {}
    for one in had:
        if one.found.key not in stay:
            one.unload()
    rest = replace(chosen, enabled=[key for key in chosen.enabled if key not in stay])
    found = {one.found.key: one for one in await plugged(home, settings.replace(rest), host)} | stay
    return tuple(found[key] for key in sorted(found))


async def _unchanged(
    loaded: Mapping[str, LoadedPlugin], home: Home, settings: Settings, host: PluginHost
) -> dict[str, LoadedPlugin]:
    """Those of the plugins whose files and settings are still what they were loaded from."""
    made_of = import_object("hermes.plugins.loading:made_of")
    found = import_object("hermes.plugins.discovery:find_plugins")(home.plugins, project_of(settings, host))
    now = [(one.key, await made_of(one, settings[PluginSettings])) for one in found if one.key in loaded]
    return {key: loaded[key] for key, made in now if made == loaded[key].made_of}


def news_of(before: Mapping[str, LoadedPlugin], now: Mapping[str, LoadedPlugin]) -> list[str]:
    """What became of plugins, in sentences."""
    told = []
    for key in sorted({*before, *now}):
        was, is_ = before.get(key), now.get(key)
        if is_ is not None and is_ is not was and is_.faults and (was is None or was.faults != is_.faults):
            told.append(f"plugin {key}: {' '.join(is_.faults)}")
        elif is_ is not None and is_ is not was and is_.state == "loaded":
            is_anew = was is not None and was.state == "loaded"
            told.append(
                f"The plugin {key} is loaded {'anew, as it was changed' if is_anew else 'from now on'}."
            )
        elif was is not None and was.state == "loaded" and (is_ is None or is_.state != "loaded"):
            told.append(f"The plugin {key} is off from now on.")
    return told


async def every_plugin(home: Home, settings: Settings, host: PluginHost) -> tuple[LoadedPlugin, ...]:
    """The same, with those that are off, and enabled ones that are not there."""
    loading = import_object("hermes.plugins.loading")
    found = import_object("hermes.plugins.discovery:find_plugins")(home.plugins, project_of(settings, host))
    every: tuple[LoadedPlugin, ...] = await loading.load_plugins(found, settings[PluginSettings], host)
    return every


def hooked(home: Home, settings: Settings, host: PluginHost) -> tuple[str, ...]:
    """Have the commands of `hooks` run at their points; what a person should know of them."""
    chosen = settings[ShellHookSettings]
    if not chosen.hooks or settings[PluginSettings].safe_mode:
        return ()
    register = import_object("hermes.plugins.hook_commands:register_commands")
    consent = import_object("hermes.plugins.hook_consent:HookConsent")(home.root)
    told: tuple[str, ...] = register(host, settings, consent)
    return told


def project_of(settings: Settings, host: PluginHost) -> Path | None:
    """The folder of a project's plugins, where the user wants some and trusts the project."""
    cwd = Path.cwd()
    wanted = settings[PluginSettings].project and host.trust.is_trusted(cwd)
    return cwd / ".hermes" / "plugins" if wanted else None
