"""Plugins that were brought from elsewhere: copied to quarantine, shown, and put in their place; nothing of
them is run by that.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.files import make_private, write_atomic
from hermes.lib.removal import remove_folder, remove_older
from hermes.lib.small_files import read_small
from hermes.lib.trees import Room, TooLarge, copy_aside
from hermes.plugins.manifest import FILE, PluginManifest, is_name, read_manifest
from hermes.skills.digest import digest
from hermes.types.error import PluginError

_DAY: Final = 86_400
MOST_FILES: Final = 2_000
MOST_BYTES: Final = 50_000_000


class InstalledPlugin(Struct, frozen=True, kw_only=True):
    """A plugin that was brought: where from, when, and the digest of what came."""

    source: str
    digest: str
    at: float


class PluginCandidate(Struct, frozen=True, kw_only=True):
    """A plugin in quarantine: what it says of itself, its files, and where it comes from."""

    folder: Path
    manifest: PluginManifest
    source: str

    @property
    def files(self) -> list[str]:
        """The paths of its files, those of links with where they lead."""
        found = (one for one in self.folder.rglob("*") if one.is_symlink() or not one.is_dir())
        return sorted(_named(one, self.folder) for one in found)


class InstalledPlugins:
    """The plugins of a home that were brought from elsewhere; others are looked at in `quarantine`."""

    def __init__(self, folder: Path, quarantine: Path) -> None:
        self.folder, self._quarantine = folder, quarantine

    def every(self) -> dict[str, InstalledPlugin]:
        """Those that were brought, by name."""
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(read_small(self._lock), type=dict[str, InstalledPlugin])
        return {}

    @contextmanager
    def candidate(self, source: Path, token: str, *, origin: str) -> Iterator[PluginCandidate]:
        """A copy of the plugin in a folder, for as long as it is looked at, or until it is installed;
        PluginError where it is none.
        """
        place = self._quarantine / token / "plugin"
        make_private(place.parent)
        remove_older(self._quarantine, _DAY)  # looks that were killed
        try:
            copy_plugin(source, place)
            manifest = read_manifest(place, source.name, "user")
            if not (place / "__init__.py").is_file():
                raise PluginError(
                    f"There is no __init__.py in {origin}.", plugin=source.name, phase="install"
                )
            yield PluginCandidate(folder=place, manifest=manifest, source=origin)
        finally:
            remove_folder(place.parent)

    def install(self, one: PluginCandidate, *, at: float) -> Path:
        """Put a candidate in its place; PluginError where a plugin of another source has its name."""
        name, known = one.manifest.name, self.every()
        target = self.folder / name
        if target.exists() and (name not in known or known[name].source != one.source):
            raise PluginError(
                f"There is a plugin {name} in {target} already; hermes plugins remove {name} makes room.",
                plugin=name,
                phase="install",
            )
        made = InstalledPlugin(source=one.source, digest=digest(one.folder), at=at)
        make_private(self.folder)
        if target.exists():
            target.rename(one.folder.parent / "before")
        one.folder.rename(target)
        self._write({**known, name: made})
        return target

    def remove(self, name: str) -> None:
        """Remove a plugin's folder; PluginError where there is none of this name."""
        if not is_name(name) or not (self.folder / name / FILE).exists():
            raise PluginError(
                f"There is no plugin {name[:80]!r} in {self.folder}.", plugin=name, phase="remove"
            )
        remove_folder(self.folder / name)
        self._write({key: one for key, one in self.every().items() if key != name})

    def is_changed(self, name: str, token: str) -> bool:
        """Whether the files of one that was brought are others than came, but for what Python compiled."""
        place = self._quarantine / token / "plugin"
        make_private(place.parent)
        try:
            copy_plugin(self.folder / name, place)
            return digest(place) != self.every()[name].digest
        finally:
            remove_folder(place.parent)

    @property
    def _lock(self) -> Path:
        return self.folder / ".installed.json"

    def _write(self, every: Mapping[str, InstalledPlugin]) -> None:
        write_atomic(self._lock, msgspec.json.format(msgspec.json.encode(every, order="sorted")) + b"\n")


def plugin_in(top: Path, path: str) -> Path:
    """The folder of the one plugin that is meant below a place; PluginError where it cannot be told."""
    if path:
        chosen = (top / path).resolve()
        if chosen.is_relative_to(top.resolve()) and (chosen / FILE).is_file():
            return chosen
        raise PluginError(f"There is no {FILE} in {path[:200]}.", plugin=path, phase="install")
    every = (one.parent for pattern in (FILE, f"*/{FILE}", f"*/*/{FILE}") for one in top.glob(pattern))
    found = [one for one in every if one.resolve().is_relative_to(top.resolve())]
    if len(found) == 1 or (found and found[0] == top):
        return found[0]
    names = ", ".join(str(one.relative_to(top)) for one in found[:20]) or "none"
    raise PluginError(f"Name one of its plugins with #PATH; there are: {names}.", plugin="", phase="install")


def copy_plugin(source: Path, target: Path) -> None:
    """Copy a plugin's files, but for what git and Python keep there; PluginError where that cannot be, or a
    link leads out: what it leads to can become something else after somebody has looked at it.
    """
    try:
        copy_aside(source.resolve(), target, Room(MOST_BYTES, MOST_FILES, skips=_is_left_out))
    except TooLarge as error:
        most = f"{MOST_FILES} files or {MOST_BYTES:,} bytes"
        raise PluginError(f"{source} has more than {most}.", plugin=source.name, phase="install") from error
    except OSError as error:
        words = f"{source} cannot be copied: {error.strerror or error}."
        raise PluginError(words, plugin=source.name, phase="install") from error

    for link in filter(Path.is_symlink, sorted(target.rglob("*"))):
        if not link.resolve().is_relative_to(target.resolve()):
            name, leads = link.relative_to(target), link.readlink()
            remove_folder(target)
            words = f"{source / name} is a link to {leads}, which leads out of the plugin."
            raise PluginError(words, plugin=source.name, phase="install")


def _named(path: Path, folder: Path) -> str:
    below = str(path.relative_to(folder))
    return f"{below} -> {path.readlink()}" if path.is_symlink() else below


def _is_left_out(path: str) -> bool:
    return path.endswith(("/.git", "/__pycache__"))
