"""What users set of plugins."""

from typing import Annotated

from msgspec import Struct, field

from hermes.config.sections import Duration, doc, section


class PluginEntry(Struct, frozen=True, kw_only=True):
    """What one plugin may do."""

    allow_tool_override: bool = False


@section("plugins")
class PluginSettings(Struct, frozen=True, kw_only=True):
    """Third parties' code: nothing of it runs unless it is named in `enabled`."""

    enabled: Annotated[
        list[str], doc("Plugins that are loaded, by name, such as weather or web/weather.")
    ] = field(default_factory=list)
    disabled: Annotated[list[str], doc("Plugins that are not loaded, whatever `enabled` says.")] = field(
        default_factory=list
    )
    project: Annotated[
        bool,
        doc("Plugins of a project, in ./.hermes/plugins, may be enabled too, in folders that you trust."),
    ] = False
    entries: Annotated[
        dict[str, PluginEntry],
        doc("By plugin what it may do; allow_tool_override lets it replace tools from elsewhere."),
    ] = field(default_factory=dict)
    load_timeout: Annotated[
        Duration, doc("Seconds after which a plugin that is still being loaded counts as faulty.")
    ] = 10.0
    safe_mode: Annotated[bool, doc("Load no plugin; `--safe-mode` says so for one start.")] = False

    def is_enabled(self, key: str) -> bool:
        """Whether a plugin is to be loaded."""
        return not self.safe_mode and key in self.enabled and key not in self.disabled

    def entry(self, key: str) -> PluginEntry:
        """What a plugin may do."""
        return self.entries.get(key, PluginEntry())
