"""What plugins add to a runtime beside tools, hooks and skills, by the name that it is called by."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from hermes.tools.registry import PLUGIN_SOURCE, ToolRegistry


class PluginCommand(Struct, frozen=True, kw_only=True):
    """A slash command of a plugin; `handler` gets what was typed after its name."""

    name: str
    plugin: str
    handler: Callable[[str], Any]
    description: str = ""
    arguments: str = ""


class PluginProgram(Struct, frozen=True, kw_only=True):
    """A subcommand of a plugin: `setup` adds its arguments to a parser of argparse, `run` gets what was
    parsed.
    """

    name: str
    plugin: str
    help: str
    setup: Callable[[Any], object]
    run: Callable[[Any], Any] | None = None
    description: str = ""


class Provision(Struct, frozen=True, kw_only=True):
    """Something of a plugin for a part of Hermes that asks for its kind, such as a provider of images; kept
    until one does.
    """

    kind: str
    name: str
    plugin: str
    value: Any


class Extensions(Struct, frozen=True):
    """What the plugins of one runtime have added; `inboxes` take what they say at a screen."""

    commands: dict[str, PluginCommand] = field(default_factory=dict)
    programs: dict[str, PluginProgram] = field(default_factory=dict)
    provisions: list[Provision] = field(default_factory=list)
    inboxes: list[Callable[[str], object]] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Provision]:
        """What was added for those who ask for this kind."""
        return [one for one in self.provisions if one.kind == kind]


def plugin_toolsets(registry: ToolRegistry) -> set[str]:
    """The toolsets of plugins: whoever enables a plugin wants its tools offered."""
    return {one.toolset for one in registry.entries().values() if one.source.startswith(PLUGIN_SOURCE)}
