"""Folders that are rebuilt from others, and so are in no snapshot of a workspace."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field

from hermes.lib.beneath import READ_FILE, held, open_beneath
from hermes.lib.globs import spec_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RULES: Final = ".gitignore"
REPOSITORY: Final = ".git"
REBUILT: Final = frozenset({
    "node_modules", "bower_components", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache", ".parcel-cache", ".turbo", ".next", ".nuxt",
    ".svelte-kit", ".gradle", ".terraform", ".eggs",
})  # fmt: skip
"""Names of folders that package managers, compilers and test runners fill."""

REBUILT_FOLDER: Final = "rebuilt"
IGNORED: Final = "ignored by git"
OF_GIT: Final = "git's own"

_LARGEST: Final = 1_000_000
Rules = tuple["tuple[str, GitIgnoreSpec]", ...]
"""The rules of the folders on the way, the deepest last, each with its folder."""


class LeavesOut(Protocol):
    """Says which folders of a workspace are left out, and why."""

    def inside(self, rules: Rules, folder: int, path: str) -> Rules:
        """The rules in an open folder at a path ("" for the workspace), from those of the one above."""
        ...

    def why(self, name: str, path: str, rules: Rules) -> str:
        """Why the folder at a path is left out, or ""."""
        ...


class FolderRules(Struct):
    """The rules of the ignore files that are there. What they say is remembered while they stay."""

    _specs: dict[str, tuple[object, "GitIgnoreSpec"]] = field(default_factory=dict)
    _told: dict[str, tuple[Rules, bool]] = field(default_factory=dict)

    def inside(self, rules: Rules, folder: int, path: str) -> Rules:
        """The rules in an open folder, with those of its own ignore file."""
        try:
            info = os.stat(RULES, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return rules
        key = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
        known = self._specs.get(path)
        if known is None or known[0] != key:
            known = self._specs[path] = (key, spec_of(_lines(folder)))
        return (*rules, (path, known[1]))

    def why(self, name: str, path: str, rules: Rules) -> str:
        """Why the folder at a path is left out, or ""."""
        return _by_name(name) or (IGNORED if rules and self._is_ignored(path, rules) else "")

    def _is_ignored(self, path: str, rules: Rules) -> bool:
        known = self._told.get(path)
        if known is None or not _same(known[0], rules):
            known = self._told[path] = (rules, _matches(path, rules))
        return known[1]


class SavedRules(Struct):
    """The rules of ignore files as they were saved, by the folder that each was in."""

    specs: Mapping[str, "GitIgnoreSpec"]

    def inside(self, rules: Rules, folder: int, path: str) -> Rules:  # noqa: ARG002  # what is there does not count
        """The rules in a folder, with those of the ignore file that it had."""
        spec = self.specs.get(path)
        return rules if spec is None else (*rules, (path, spec))

    def why(self, name: str, path: str, rules: Rules) -> str:
        """Why the folder at a path is left out, or ""."""
        return _by_name(name) or (IGNORED if rules and _matches(path, rules) else "")


def saved_rules(files: Iterable[tuple[str, bytes]]) -> SavedRules:
    """The rules of ignore files, given by path with what was in them."""
    return SavedRules(
        {path.removesuffix(RULES).rstrip("/"): spec_of(_decoded(data[:_LARGEST])) for path, data in files}
    )


def _by_name(name: str) -> str:
    return REBUILT_FOLDER if name in REBUILT else OF_GIT if name == REPOSITORY else ""


def _same(some: Rules, others: Rules) -> bool:
    return len(some) == len(others) and all(
        one[1] is other[1] for one, other in zip(some, others, strict=True)
    )


def _matches(path: str, rules: Rules) -> bool:
    """What the deepest rule that says something of the folder says."""
    for top, spec in reversed(rules):
        below = PurePosixPath(path).relative_to(top).as_posix()
        if (verdict := spec.check_file(f"{below}/").include) is not None:
            return bool(verdict)
    return False


def _lines(folder: int) -> Iterator[str]:
    with suppress(OSError), held(open_beneath(folder, RULES, READ_FILE)) as file:
        yield from _decoded(os.read(file, _LARGEST))


def _decoded(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()
