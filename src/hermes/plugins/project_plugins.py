"""Plugins of projects: what is run is a copy in the home, made when a person enabled it. A session may write
in its project, and what it wrote there must not be run at the next start.
"""

import hashlib
from pathlib import Path
from typing import Final

from hermes.lib.files import make_private
from hermes.lib.removal import remove_folder
from hermes.plugins.contents import contents
from hermes.plugins.installed import copy_plugin

CHANGED: Final = "nobody has looked at its files as they are now; hermes plugins enable {} does."


class ProjectPlugins:
    """The copies of a home, each under a hash of where the plugin lies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def accept(self, plugin: Path) -> None:
        """Have a plugin's files run as they are now; PluginError where they cannot be copied."""
        self.take(plugin, self.copy(plugin))

    def copy(self, plugin: Path) -> Path:
        """A copy to look at before it is taken: meanwhile a session may write in the project."""
        make_private(self._folder)
        place = self._copy_of(plugin).with_suffix(".new")
        remove_folder(place)
        copy_plugin(plugin, place)
        return place

    def take(self, plugin: Path, copy: Path) -> None:
        """Have a copy run that was looked at."""
        place = self._copy_of(plugin)
        remove_folder(place)
        copy.rename(place)

    def known(self, plugin: Path) -> Path | None:
        """The copy that was made when it was enabled, whatever its files are now."""
        place = self._copy_of(plugin)
        return place if place.is_dir() else None

    def accepted(self, plugin: Path) -> Path | None:
        """The copy to run, if the plugin's files are still as they were."""
        place = self.known(plugin)
        return place if place and contents(place) == contents(plugin) else None

    def _copy_of(self, plugin: Path) -> Path:
        return self._folder / hashlib.sha256(str(plugin.resolve()).encode()).hexdigest()[:32]
