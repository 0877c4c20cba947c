"""Folders that are rebuilt from others, and so are in no snapshot of a workspace."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

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

_LARGEST: Final = 1_000_000
Rules = tuple["tuple[str, GitIgnoreSpec]", ...]
"""The rules of the folders on the way, the deepest last, each with its folder."""


class FolderRules(Struct):
    """Why a folder of a workspace is left out. What the ignore files say is remembered while they stay."""

    _specs: dict[str, tuple[object, "GitIgnoreSpec"]] = field(default_factory=dict)
    _told: dict[str, tuple[Rules, bool]] = field(default_factory=dict)

    def inside(self, rules: Rules, folder: int, path: str, info: os.stat_result) -> Rules:
        """The rules in an open folder at a path, which has an ignore file of its own."""
        key = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
        known = self._specs.get(path)
        if known is None or known[0] != key:
            known = self._specs[path] = (key, spec_of(_lines(folder)))
        return (*rules, (path, known[1]))

    def why(self, name: str, path: str, rules: Rules) -> str:
        """Why the folder at a path is left out, or ""."""
        if name in REBUILT:
            return "rebuilt"
        if name == REPOSITORY:
            return "git's own"
        return "ignored by git" if rules and self._is_ignored(path, rules) else ""

    def _is_ignored(self, path: str, rules: Rules) -> bool:
        known = self._told.get(path)
        if known is None or not _same(known[0], rules):
            known = self._told[path] = (rules, _matches(path, rules))
        return known[1]


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
        yield from os.read(file, _LARGEST).decode("utf-8", "replace").splitlines()
