"""The folders in which git keeps itself in a workspace: of a repository, its submodules and worktrees."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

from hermes.lib.git_index import gitlinks, stamp_of
from hermes.lib.repository import named_work, read_plain
from hermes.types.error import ExecError

MOST: Final = 400
"""Repositories of one workspace that can be kept from being changed: each takes places in the sandbox."""


class TooManyRepositories(ExecError):
    """There are more repositories in a workspace than can be kept from being changed."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"There are {MOST} repositories or more in {place}, as submodules or worktrees; so many cannot be"
            " kept from being changed, and no command runs here. Take away those that are not needed, or"
            " work in a folder below."
        )


def own_folder(top: str) -> str:
    """Where git keeps itself for the work in `top`: its `.git`, or what that leads to where it is a link."""
    git = f"{top}/.git"
    return os.path.realpath(git) if os.path.islink(git) else git  # noqa: PTH114  # each command waits for this


def git_folders(top: str, git: str) -> Iterator[str]:
    """Git's own folders of the repository whose work lies in `top`: the folder `git`, or `top` itself where
    it has the layout of a bare one; those of submodules at any depth, also of folders that the index has as
    such, and those of worktrees; and what a `.git` that is a file names in `top`. Links are not followed.
    """
    linked = _linked(top)
    named = (_named_in(top, work) for work in (top, *linked))
    found = [git, *(f"{work}/.git" for work in linked), *named]
    own = [folder for folder in dict.fromkeys(found) if folder and _is_folder(folder)]
    yield from dict.fromkeys(one for folder in own for one in (folder, *_inner(folder)))
    if os.path.lexists(f"{top}/HEAD") and _has_parts(top):
        yield top


def git_files(top: str, folders: Iterable[str]) -> Iterator[str]:
    """The `.git` files by which the work in `top`, or a submodule of it, finds its folder; `folders` are
    those of `git_folders`. Not those of linked worktrees, which git takes away again.
    """
    work = dict.fromkeys([top, *_linked(top), *(one for folder in folders if (one := _work_of(folder)))])
    taken_away = set(_worktrees(top))
    kept = (f"{one}/.git" for one in work if one not in taken_away)
    yield from (git for git in kept if os.path.isfile(git))  # noqa: PTH113  # each command waits for this


def git_names(top: str) -> Iterator[str]:
    """The names by which git finds a repository in `top`, in linked worktrees there, and in what the index of
    one of them has as submodules.
    """
    yield from (f"{work}/.git" for work in (top, *_linked(top)))


def _worktree_of(record: str) -> str:
    """The `.git` file of the linked worktree that a folder `…/worktrees/NAME` is for, as its `gitdir` says;
    "" where it says nothing.
    """
    with suppress(OSError):
        if named := read_plain(f"{record}/gitdir").strip():
            return os.path.normpath(os.path.join(record, named))  # noqa: PTH118  # each command waits for this
    return ""


def _worktrees(top: str) -> Iterator[str]:
    """The folders in `top` that are linked worktrees of its repository."""
    git = _git_of(top)
    with suppress(OSError):
        git = os.path.normpath(os.path.join(git, read_plain(f"{git}/commondir").strip()))  # noqa: PTH118
    for record in _folders(f"{git}/worktrees"):
        if (named := _worktree_of(record)).startswith(f"{top}/") and named.endswith("/.git"):
            yield named.removesuffix("/.git")


def _named_in(top: str, work: str) -> str:
    """Where the `.git` file of a work leads, if that is in `top`; "" elsewhere, where nothing is written."""
    named = os.path.realpath(_git_of(work)) if os.path.isfile(f"{work}/.git") else ""  # noqa: PTH113  # as below
    return named if named.startswith(f"{top}/") else ""


def _inner(git: str) -> Iterator[str]:
    """The git folders inside a git folder; what is one holds a HEAD, or settings, which nobody can take away
    for a moment; above those are plain folders.
    """
    found = [*_folders(f"{git}/modules"), *_folders(f"{git}/worktrees")]
    seen = 0
    while found:
        folder = found.pop()
        seen += 1
        if seen > MOST:
            raise TooManyRepositories(git)
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
    """The linked worktrees in `top`, and the folders that an index has as submodules, at any depth: a status
    looks into each, whatever else is said of it.
    """
    found = dict.fromkeys(one for one in _worktrees(top) if one != top)
    left = [top, *found]
    while left and len(found) < MOST:
        work = left.pop()
        git = _git_of(work)
        inner = [f"{work}/{name}" for name in _links(git, stamp_of(git))] if git else []
        left += [one for one in inner if one not in found]
        found.update(dict.fromkeys(inner))
    if len(found) >= MOST:
        raise TooManyRepositories(top)
    return tuple(found)


@lru_cache(maxsize=256)
def _links(git: str, stamp: tuple[int, ...]) -> tuple[str, ...]:
    return gitlinks(git) if stamp else ()


def _git_of(work: str) -> str:
    """Git's own folder for the work in a folder; "" where there is none."""
    git = f"{work}/.git"
    if os.path.isfile(git):  # noqa: PTH113  # each command waits for this
        with suppress(OSError):
            named = read_plain(git).strip()
            if named.startswith("gitdir: "):
                return os.path.normpath(os.path.join(work, named.removeprefix("gitdir: ")))  # noqa: PTH118
    return git if os.path.isdir(git) else ""  # noqa: PTH112
