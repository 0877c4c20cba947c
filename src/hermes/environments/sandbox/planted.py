"""Keep what a command planted from running later, outside: what is new, and would be run by git, a shell or a
login, is moved aside when the command has ended. What is there already is covered by mounts.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox.git_folders import git_files, git_folders
from hermes.environments.sandbox.mounts import open_source
from hermes.lib.repository import STEERING, is_plain_config

_ASIDE: Final = ".taken"
_LARGEST: Final = 1_000_000
_ACCESS_TAKES_LINKS: Final = os.access("/", os.F_OK, follow_symlinks=False)  # not every C library's does


class Watched(Struct, frozen=True, kw_only=True):
    """Where something planted would run: the repositories that lie in `tops`, and `starts`, files that a
    program of the user's runs by itself or trusts, as far as a command could make them. Absolute paths.
    """

    tops: tuple[str, ...]
    starts: tuple[str, ...] = ()

    def there(self) -> frozenset[str]:
        """All of it that is there now."""
        return frozenset(path for path in (*self.starts, *_in_repositories(self.tops)) if _exists(path))

    def take_planted(self, before: frozenset[str]) -> list[str]:
        """Move aside what was not there `before`, unless it is what git itself makes; a sentence for each."""
        new = [path for path in self.starts if path not in before and _exists(path)]
        planted = [(path, "would run something by itself, or be trusted") for path in new]
        planted += [(path, "would make git run something") for path in self._in_git(before)]
        return [
            f"{path} {does}; it was moved to {aside}" for path, does in planted if (aside := _moved(path))
        ]

    def _in_git(self, before: frozenset[str]) -> Iterator[str]:
        for top in self.tops:
            for path in _steering(top):
                covered = path in before and not path.endswith("/commondir")  # nothing covers a worktree's
                if os.path.lexists(path) and not covered and not _is_plain(path, top):
                    yield path


def _exists(path: str) -> bool:
    """Whether there is something with that name, a link that leads nowhere included."""
    if _ACCESS_TAKES_LINKS:  # most are not there, and `lexists` would raise and catch an error for each
        return os.access(path, os.F_OK, follow_symlinks=False)
    return os.path.lexists(path)


def _in_repositories(tops: Iterable[str]) -> Iterator[str]:
    for top in tops:
        yield from _steering(top)


def _steering(top: str) -> Iterator[str]:
    git = f"{top}/.git"
    if os.path.lexists(git) and (os.path.islink(git) or not os.path.isdir(git)):  # noqa: PTH112, PTH114
        yield git
    yield from (f"{top}/.hg/hgrc", *git_files(top))
    for folder in git_folders(top):
        yield from (f"{folder}/{name}" for name in STEERING[1:])
        yield from _hooks(f"{folder}/hooks")


def _hooks(folder: str) -> Iterator[str]:
    """The hooks that git would run; the folder itself where it is none."""
    if os.path.islink(folder):  # noqa: PTH114
        yield folder
        return
    with suppress(OSError), os.scandir(folder) as found:
        yield from (entry.path for entry in found if not entry.name.endswith((".sample", _ASIDE)))


def _is_plain(path: str, top: str) -> bool:
    """Whether it is what git itself would have made."""
    match os.path.basename(path):  # noqa: PTH119
        case "config" | "config.worktree":
            return is_plain_config(_text(path, top), os.path.dirname(path), top)  # noqa: PTH120
        case "commondir":
            return _text(path, top).strip() in {"../..", f"{top}/.git"} and "/worktrees/" in path
        case ".git":
            target = os.path.join(os.path.dirname(path), _text(path, top).strip().removeprefix("gitdir: "))  # noqa: PTH118, PTH120
            return os.path.normpath(target) in set(git_folders(top))
    return False


def _text(path: str, top: str) -> str:
    """What a regular file holds; a line that is not plain where it is something else."""
    with suppress(OSError):
        held = open_source(path, (top,))
        if held is None:
            return "?"
        try:
            if not stat.S_ISREG(os.fstat(held).st_mode):
                return "?"
            with open(f"/proc/self/fd/{held}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                return file.read(_LARGEST)
        finally:
            os.close(held)
    return "?"


def _moved(path: str) -> str:
    """Rename it by its folder's descriptor, for a command that still runs could put a link in the way; its
    new path, "" where that failed.
    """
    folder, _, name = path.rpartition("/")
    with suppress(OSError):
        at = (
            open_source(folder, ("/",)) if folder else os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        )
        if at is None:
            return ""
        try:
            aside = name + _ASIDE
            if os.path.lexists(f"{folder}/{aside}"):
                aside += f"-{os.urandom(4).hex()}"
            os.rename(name, aside, src_dir_fd=at, dst_dir_fd=at)
        finally:
            os.close(at)
        return f"{folder}/{aside}"
    return ""
