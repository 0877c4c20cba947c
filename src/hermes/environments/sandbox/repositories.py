"""Keep a repository from running what a command planted: what is there is covered, and what is new and not
plain is moved aside when the command has ended.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from hermes.environments.sandbox.mounts import open_source
from hermes.lib.repository import STEERING, git_files, git_folders, is_plain_config

_ASIDE: Final = ".taken"
_LARGEST: Final = 1_000_000


def steering(tops: Iterable[str]) -> frozenset[str]:
    """All that is there now and chooses what git runs in the repositories in `tops`: absolute paths."""
    return frozenset(path for top in tops for path in _steering(top) if os.path.lexists(path))


def take_planted(tops: tuple[str, ...], before: frozenset[str]) -> list[str]:
    """Move aside what chooses what git runs, was not there `before`, and is no more than git itself makes;
    a sentence for each.
    """
    planted = [
        path
        for top in tops
        for path in _steering(top)
        if os.path.lexists(path)
        and (path not in before or path.endswith("/commondir"))  # nothing covers that of a worktree
        and not _is_plain(path, top)
    ]
    return [
        f"{path} would make git run something; it was moved to {path}{_ASIDE}"
        for path in planted
        if _moved(path, tops)
    ]


def _steering(top: str) -> Iterator[str]:
    git = f"{top}/.git"
    if os.path.lexists(git) and (os.path.islink(git) or not os.path.isdir(git)):  # noqa: PTH112, PTH114
        yield git
    yield from git_files(top)
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
            return is_plain_config(_text(path, top))
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


def _moved(path: str, tops: tuple[str, ...]) -> bool:
    """Rename it by its folder's descriptor: a command that still runs could put a link in the way."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError):
        at = open_source(folder, tops) or os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.rename(name, name + _ASIDE, src_dir_fd=at, dst_dir_fd=at)
        finally:
            os.close(at)
        return True
    return False
