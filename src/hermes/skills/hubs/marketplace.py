"""Marketplaces of Claude Code: a repository whose `.claude-plugin/marketplace.json` lists plugins, each a
folder of it or a repository of its own, with skills in them.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from hermes.lib.small_files import read_small
from hermes.skills.hubs.protocol import MOST_OFFERS, Offer
from hermes.skills.hubs.repository import Cloning, cloned, looked_at, offer_of
from hermes.skills.sources import SkillSource, chosen_of, is_repository, repository_address, skill_folders
from hermes.types.error import SkillError

_FILE: Final = ".claude-plugin/marketplace.json"


class _Plugin(Struct):
    """A plugin; `source` is a folder, or a table that says which repository has it."""

    name: str
    source: str | dict[str, Any] = ""
    description: str = ""
    skills: str | list[str] = "skills"


class _PluginList(Struct):
    plugins: list[_Plugin]
    metadata: dict[str, Any] = field(default_factory=dict)


class Marketplace(Struct, frozen=True):
    """The plugins of one repository; `github` is where repositories are that it names without an address."""

    source: SkillSource
    cloning: Cloning
    github: str

    @property
    def name(self) -> str:
        """What people call it."""
        return self.source.name

    async def offers(self, words: str) -> Sequence[Offer]:
        """The skills of plugins that are folders here, and each plugin that is elsewhere."""
        with tempfile.TemporaryDirectory(prefix="hermes-skills-") as place:
            top = await cloned(self.source, Path(place), self.cloning)
            plugins = _listed(top, self.name)
            here = await looked_at(_folders(plugins, top), self.source, words)
        there = [
            offer_of(self.source, one.name, one.description)
            for one in plugins
            if isinstance(one.source, dict)
        ]
        return [*here, *(one for one in there if one.fits(words))][:MOST_OFFERS]

    async def fetch(self, path: str, place: Path) -> Path:
        """A skill as `plugin/skill`, or a plugin that has only one."""
        name, _, wanted = path.partition("/")
        top = await cloned(self.source, place, self.cloning)
        found = next((one for one in _listed(top, self.name) if one.name == name), None)
        if found is None:
            raise SkillError(f"{self.name} has no plugin {name[:80]!r}.")
        there = await self._place(found, top, place)
        return chosen_of(_skills_of(found, there), f"{self.name}/{name}", wanted)

    async def _place(self, plugin: _Plugin, top: Path, place: Path) -> Path:
        """The folder of a plugin, which is fetched where it is elsewhere."""
        inner = plugin.source if isinstance(plugin.source, str) else str(plugin.source.get("path", ""))
        if not isinstance(plugin.source, str):
            other = place / "plugin"
            other.mkdir()
            top = await cloned(self._elsewhere(plugin), other, self.cloning)
        if not _is_within(top / inner, top):
            raise SkillError(f"The plugin {plugin.name} leads out of its repository.")
        return top / inner

    def _elsewhere(self, plugin: _Plugin) -> SkillSource:
        """The repository of a plugin that names one. It says nothing of who wrote what is there."""
        named = plugin.source if isinstance(plugin.source, dict) else {}
        words = str(named.get("repo") or named.get("url") or "")
        if not is_repository(words):
            raise SkillError(f"The plugin {plugin.name} comes from no repository that is known here.")
        address = repository_address(words, self.github)
        return SkillSource(kind="repository", name=words, trust="community", address=address)


def _listed(top: Path, name: str) -> list[_Plugin]:
    """The plugins that a marketplace lists, their folders as paths in it."""
    try:
        read = msgspec.json.decode(read_small(top / _FILE), type=_PluginList)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SkillError(f"{name} has no {_FILE} that can be read: {error}.") from error
    root = str(read.metadata.get("pluginRoot", ""))
    for one in read.plugins:
        if root and isinstance(one.source, str) and not one.source.startswith("./"):
            one.source = f"{root}/{one.source}"
    return read.plugins


def _folders(plugins: Sequence[_Plugin], top: Path) -> dict[str, Path]:
    """The skills of the plugins that are folders below a place, as `plugin/skill`."""
    return {
        f"{one.name}/{name}": folder
        for one in plugins
        if isinstance(one.source, str) and _is_within(top / one.source, top)
        for name, folder in _skills_of(one, top / one.source).items()
    }


def _skills_of(plugin: _Plugin, folder: Path) -> dict[str, Path]:
    """The skills of a plugin by the names of their folders."""
    named = [plugin.skills] if isinstance(plugin.skills, str) else plugin.skills
    places = [folder / one for one in named if _is_within(folder / one, folder)]
    return {one.name: one for place in places for one in skill_folders(place).values()}


def _is_within(folder: Path, top: Path) -> bool:
    """Whether a folder lies below another one; what does not is not even looked at."""
    return folder.resolve().is_relative_to(top.resolve())
