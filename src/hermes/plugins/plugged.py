"""The plugins of a runtime: where none is enabled, nothing of them is looked for or imported."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

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
    others, `provides` what they have added.
    """

    found: "FoundPlugin"
    state: Literal["off", "loaded", "faulty"]
    fault: str = ""
    context: "PluginContext | None" = None

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
    register = import_object("hermes.plugins.shell_hooks:register_commands")
    consent = import_object("hermes.plugins.hook_consent:HookConsent")(home.root)
    told: tuple[str, ...] = register(host.hooks, chosen, consent, host.environ)
    return told


def project_of(settings: Settings, host: PluginHost) -> Path | None:
    """The folder of a project's plugins, where the user wants some and trusts the project."""
    cwd = Path.cwd()
    wanted = settings[PluginSettings].project and host.trust.is_trusted(cwd)
    return cwd / ".hermes" / "plugins" if wanted else None
