"""The plugins of a home, loaded for somebody who looks at them without a session."""

from collections.abc import Mapping
from pathlib import Path

import anyio
from msgspec import Struct

from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.context_engines import ContextEngines
from hermes.agent.memory_provider import shipped
from hermes.agent.prompt.folder_trust import FolderTrust
from hermes.agent.prompt.settings import ContextFileSettings
from hermes.agent.settings import DelegationSettings
from hermes.composition import SYSTEM_PORTS, open_tools, skills_of
from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.hooks import Hooks
from hermes.mcp.opening import known_servers
from hermes.mcp.settings import McpSettings
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.plugins.host import PluginHost
from hermes.plugins.plugged import LoadedPlugin, every_plugin
from hermes.plugins.settings import PluginSettings
from hermes.skills.settings import SkillSettings
from hermes.tools.discovery import ToolFolder


class PluginsHere(Struct, frozen=True, kw_only=True):
    """The tools of a home, those of its servers as far as they are known, and its plugins with what they have
    added to it.
    """

    tools: ToolFolder
    host: PluginHost
    plugins: tuple[LoadedPlugin, ...]

    @property
    def faults(self) -> list[str]:
        """What is wrong with plugins, each in a sentence."""
        return [f"plugin {one.found.key}: {told}" for one in self.plugins for told in one.faults]


def plugins_here(home: Home, settings: Settings, environ: Mapping[str, str]) -> PluginsHere:
    """Load the plugins that are enabled, and tell of the others."""
    servers = known_servers(home, settings[McpSettings].mcp_servers, environ, SYSTEM_PORTS)
    delegation, code = settings[DelegationSettings], settings[CodeExecutionSettings]
    tools = open_tools(home, environ, lambda: delegation, code, servers)
    user_home = Path(environ.get("HOME") or Path.home())
    host = PluginHost(
        registry=tools.registry,
        hooks=Hooks(),
        skills=skills_of(home, settings[SkillSettings]),
        engines=ContextEngines(settings),
        memory=shipped(),
        environ=environ,
        trust=FolderTrust(
            file=home.trust_file, rule=settings[ContextFileSettings].trust, user_home=user_home
        ),
        home=home,
        settings=settings,
    )
    return PluginsHere(tools=tools, host=host, plugins=anyio.run(every_plugin, home, settings, host))


def with_plugin_providers(home: Home, settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings with the providers of models of plugins, which are loaded where any is enabled."""
    settings = settings.replace(PluginProviders())
    if settings[PluginSettings].enabled:
        plugins_here(home, settings, environ)
    return settings
