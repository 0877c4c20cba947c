"""The folders in which git keeps itself in a workspace: of a repository, its submodules and worktrees."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from hermes.lib.repository import named_work, read_plain

_LINK_MODE: Final = b"\0\0\xe0\0"  # 160000 in octal, as the index has it
_QUIET: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def own_folder(top: str) -> str:
    """Where git keeps itself for the work in `top`: its `.git`, or what that leads to where it is a link."""
    git = f"{top}/.git"
    return os.path.realpath(git) if os.path.islink(git) else git  # noqa: PTH114  # each command waits for this


def git_folders(top: str, git: str) -> Iterator[str]:
    """Git's own folders of the repository whose work lies in `top`: the folder `git`, or `top` itself where
    it has the layout of a bare one; those of submodules at any depth, also of folders that the index has as
    such, and those of worktrees. Links are not followed.
    """
    if _is_folder(git):
        yield git
        yield from _inner(git)
        for work in _linked(top):
            if _is_folder(f"{work}/.git"):
                yield f"{work}/.git"
                yield from _inner(f"{work}/.git")
    if os.path.lexists(f"{top}/HEAD") and _has_parts(top):
        yield top


def git_files(top: str, folders: Iterable[str]) -> Iterator[str]:
    """The `.git` files by which a worktree, or a submodule of the repository in `top`, finds its folder;
    `folders` are those of `git_folders`.
    """
    work = [top, *_linked(top), *(one for folder in folders if (one := _work_of(folder)))]
    yield from (f"{one}/.git" for one in dict.fromkeys(work) if os.path.isfile(f"{one}/.git"))  # noqa: PTH113


def git_names(top: str) -> Iterator[str]:
    """The names by which git finds a repository in `top` and in what the index has as submodules."""
    yield from (f"{work}/.git" for work in (top, *_linked(top)))


def _inner(git: str) -> Iterator[str]:
    """The git folders inside a git folder; what is one holds a HEAD, or settings, which nobody can take away
    for a moment; above those are plain folders.
    """
    found = [*_folders(f"{git}/modules"), *_folders(f"{git}/worktrees")]
    while found:
        folder = found.pop()
        if os.path.lexists(f"{folder}/HEAD") or os.path.lexists(f"{folder}/config"):
            yield folder
            found += [*_folders(f"{folder}/modules"), *_folders(f"{folder}/worktrees")]
        else:
            found += _folders(folder)


def _folders(above: str) -> list[str]:
    with suppress(OSError), os.scandir(above) as found:
        return [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    return []


def _work_of(folder: str) -> str:
    """Where a submodule's work lies, as its settings say; "" where they say nothing."""
    with suppress(OSError):
        return named_work(read_plain(f"{folder}/config"), folder)
    return ""


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114  # each command waits for this


def _has_parts(top: str) -> bool:
    """Whether git would find its parts there, by links or in another folder too."""
    parts = all(os.path.isdir(f"{top}/{name}") for name in ("objects", "refs"))  # noqa: PTH112  # as above
    return parts or os.path.lexists(f"{top}/commondir")


def _linked(top: str) -> tuple[str, ...]:
    """The folders that the index has as submodules: a status looks into each, whatever else is said of it."""
    with suppress(OSError):
        index = os.stat(f"{top}/.git/index", follow_symlinks=False)  # noqa: PTH116  # as above
        return _linked_by(top, (index.st_ino, index.st_size, index.st_mtime_ns))
    return ()


@lru_cache(maxsize=64)
def _linked_by(top: str, stamp: tuple[int, ...]) -> tuple[str, ...]:
    del stamp  # what the file looked like: it is read again when that changes
    with suppress(OSError, subprocess.SubprocessError):
        if _LINK_MODE not in Path(top, ".git", "index").read_bytes():
            return ()
        done = subprocess.run(  # as `_QUIET` has it, from the system's own places
            ["/usr/bin/env", "git", "-c", "core.fsmonitor=false", "ls-files", "-s", "-z"],
            env={**_QUIET, "GIT_DIR": f"{top}/.git", "GIT_WORK_TREE": top},
            cwd="/",
            capture_output=True,
            timeout=5,
            check=False,
        )
        entries = (one.partition(b"\t") for one in done.stdout.split(b"\0") if one.startswith(b"160000 "))
        return tuple(f"{top}/{os.fsdecode(name)}" for _, _, name in entries)
    return ()
