"""Where plugins lie: folders of the home and of a project, and packages that name themselves as one."""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from hermes.plugins.manifest import FILE, PluginKind, PluginManifest, PluginSource, is_name, read_manifest
from hermes.types.error import PluginError

GROUPS: Final[Mapping[str, PluginKind]] = {
    "hermes_agent.plugins": "standalone",
    "hermes_agent.model_providers": "model-provider",
}
"""The entry points of packages that bring a plugin, and what kind each group is of."""


class FoundPlugin(Struct, frozen=True, kw_only=True):
    """A plugin that is there, with its manifest or what is wrong with that; `package` is the entry point of
    one that was installed as a package.
    """

    key: str
    source: PluginSource
    path: str
    manifest: PluginManifest | None = None
    fault: str = ""
    package: EntryPoint | None = None


def find_plugins(user: Path, project: Path | None) -> tuple[FoundPlugin, ...]:
    """Every plugin by key; of two with one key that of the project counts before the user's, and that of a
    package before both. Nothing of them is run.
    """
    found: dict[str, FoundPlugin] = {}
    for one in (*_in(user, "user"), *(_in(project, "project") if project else ()), *_packages()):
        found[one.key] = one
    return tuple(found[key] for key in sorted(found))


def _in(top: Path, source: PluginSource) -> Iterator[FoundPlugin]:
    """The plugins in a folder, and in the folders of categories in it."""
    for folder in _folders(top):
        if _is_plugin(folder):
            yield _found(folder, folder.name, source)
            continue
        for inner in _folders(folder):
            if _is_plugin(inner):
                yield _found(inner, f"{folder.name}/{inner.name}", source)


def _folders(top: Path) -> list[Path]:
    try:
        return sorted(one for one in top.iterdir() if is_name(one.name) and one.is_dir())
    except OSError:
        return []


def _is_plugin(folder: Path) -> bool:
    return (folder / FILE).exists()


def _found(folder: Path, key: str, source: PluginSource) -> FoundPlugin:
    try:
        manifest = read_manifest(folder, key, source)
    except PluginError as error:
        return FoundPlugin(key=key, source=source, path=str(folder), fault=str(error))
    return FoundPlugin(key=key, source=source, path=str(folder), manifest=manifest)


def _packages() -> Iterator[FoundPlugin]:
    points = ((point, kind) for group, kind in GROUPS.items() for point in entry_points(group=group))
    for point, kind in points:
        if is_name(point.name):
            about: Mapping[str, Any] = point.dist.metadata.json if point.dist else {}
            manifest = PluginManifest(
                name=point.name,
                key=point.name,
                source="package",
                path=point.value,
                kind=kind,
                version=str(about.get("version", "")),
                description=str(about.get("summary", "")),
            )
            yield FoundPlugin(
                key=point.name, source="package", path=point.value, manifest=manifest, package=point
            )
