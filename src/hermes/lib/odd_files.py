"""Find what is no file where git reads one: git waits for a pipe, without an end."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hermes.lib.repository import read_plain
from hermes.lib.walk import walk

_OF_GIT: Final = (
    *("config", "config.worktree", "commondir", "HEAD", "packed-refs", "shallow", "index"),
    *("info/exclude", "info/attributes", "info/sparse-checkout", "info/grafts"),
    *("objects/info/alternates", "objects/info/commit-graph"),
)
_OF_WORK: Final = (".gitignore", ".gitattributes", ".gitmodules")


def odd_around(folder: Path) -> str:
    """The first such path in the repositories that a folder may lie in; "" where there is none."""
    return next((odd for above in (folder, *folder.parents) if (odd := _odd_of_git(above / ".git"))), "")


def odd_below(top: Path) -> str:
    """The first such path in the working copy `top` and the repositories in it; "" where there is none. What
    cannot be listed is left out: git says so.
    """
    for folder, folders, others in walk(str(top)):
        is_inner = folder != str(top) and ".git" in (*folders, *others)
        if is_inner and (odd := _odd_of_git(Path(folder, ".git"))):
            return odd
        for name in _OF_WORK:
            if name in others and _is_odd(f"{folder}/{name}"):
                return f"{folder}/{name}"
        folders[:] = [name for name in folders if name != ".git"]
    return ""


def _is_odd(path: str) -> bool:
    """Whether a pipe, a socket or a device is there, links followed."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # words, as the caller has them
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _odd_of_git(git: Path) -> str:
    paths = (f"{folder}/{name}" for folder in _own_folders(git) for name in _OF_GIT)
    return next((path for path in paths if _is_odd(path)), "")


def _own_folders(git: Path) -> Iterator[Path]:
    """The folder that a `.git` is, or the one that it names with the one which that shares."""
    if os.path.isdir(git):  # noqa: PTH112  # its path may be too long
        yield git
    elif named := _named_by(git):
        yield git.parent / named
        yield (git.parent / named).parent.parent


def _named_by(git: Path) -> str:
    try:
        return read_plain(os.path.realpath(git)).strip().removeprefix("gitdir: ")
    except OSError:
        return ""
