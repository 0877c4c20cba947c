"""The files that `@` completes: git's list, or a walk where there is no git; found by a loose match."""

import os
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path

import anyio

from hermes.apps.tui.git import run_git
from hermes.lib.walk import walk
from hermes.present.outcome import size

_MOST = 100_000
_CONSIDERED = 300
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"})
_LISTED = ("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z")


async def list_files(root: Path) -> list[str]:
    """Paths below `root`, relative, without what git ignores; sorted."""
    try:
        found = await run_git(root, *_LISTED)
    except OSError:
        return await anyio.to_thread.run_sync(_walk, root)
    if found.returncode:
        return await anyio.to_thread.run_sync(_walk, root)
    return sorted(path for path in found.stdout.decode("utf-8", "replace").split("\0") if path)


def _walk(root: Path) -> list[str]:
    paths: list[str] = []
    for folder, folders, names in walk(str(root)):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        here = os.path.relpath(folder, root)
        paths += [name if here == "." else f"{here}/{name}" for name in names]
        if len(paths) > _MOST:
            break
    return sorted(paths)


class Paths:
    """Paths made ready to be searched: one text, one path a line, so that a search is one pass of the C
    library.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self._text = "\n" + "\n".join(self.paths).lower() + "\n"
        self._starts = list(accumulate((len(path.lower()) + 1 for path in self.paths), initial=1))[:-1]

    def best(self, query: str, limit: int = 8) -> list[str]:
        """The paths that fit `query` best: the name starts with it, the path contains it, its letters occur
        in order.
        """
        wanted = query.lower()
        if not wanted:
            return list(self.paths[:limit])
        found: dict[str, None] = {}
        for hits in (self._named(wanted), self._containing(wanted), self._scattered(wanted)):
            found |= dict.fromkeys(
                sorted(
                    (self._path(hit) for hit in islice(hits, _CONSIDERED)), key=lambda path: (len(path), path)
                )
            )
            if len(found) >= limit:
                break
        return list(found)[:limit]

    def _path(self, position: int) -> str:
        return self.paths[bisect(self._starts, position) - 1]

    def _named(self, wanted: str) -> Iterator[int]:
        for lead in "/\n":
            for position in self._containing(lead + wanted):
                end = self._text.index("\n", position + 1)
                if self._text.find("/", position + 1, end) < 0:
                    yield position + 1

    def _containing(self, wanted: str) -> Iterator[int]:
        position = self._text.find(wanted)
        while position >= 0:
            yield position
            position = self._text.find(wanted, position + 1)

    def _scattered(self, wanted: str) -> Iterator[int]:
        # Each gap excludes the letter it leads to, so that a line that does not match fails without
        # backtracking.
        gaps = "".join(f"[^{re.escape(letter)}\\n]*{re.escape(letter)}" for letter in wanted[1:])
        return (match.start() for match in re.finditer(re.escape(wanted[0]) + gaps, self._text))


def size_of(root: Path, path: str) -> str:
    """The size of a file as people say it; empty when it cannot be told."""
    try:
        return size((root / path).stat().st_size)
    except OSError:
        return ""
