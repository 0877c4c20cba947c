"""What makes git run something later: one table for mounts, file tools and the reading of commands."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

STEERING: Final = ("hooks", "config", "config.worktree", "commondir")
"""What of git's own folder chooses what it runs; all else there is what commits need."""

_STEERING: Final = re.compile(
    r"(?:^|/)\.git(?:/(?:(?:modules|worktrees)/.+/)?(?:hooks(?:/.*)?|"
    + "|".join(map(re.escape, STEERING[1:]))
    + r"))?$"
)
_WORKTREE: Final = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*([^\n]+)$", re.MULTILINE)
_SECTION: Final = re.compile(r"\[(\w+)(?: \"[^\"\\]*\")?\]")
_SETTING: Final = re.compile(r"(\w+) = ?.*[^\\]|(\w+) =")
_PLAIN: Final = {
    "core": frozenset(
        {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "symlinks"}
        | {"precomposeunicode", "worktree"}
    ),
    "remote": frozenset({"url", "fetch", "pushurl", "tagopt", "prune", "promisor", "partialclonefilter"}),
    "branch": frozenset({"remote", "merge", "rebase"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "extensions": frozenset({"objectformat", "partialclone", "worktreeconfig", "refstorage"}),
    "user": frozenset({"name", "email"}),
}


def steers_git(path: str) -> bool:
    """Whether what is at a path chooses what a later git command runs; a `.git` as such does, for it may be a
    file that leads to another folder.
    """
    return bool(_STEERING.search(path.rstrip("/")))


def git_folders(top: str) -> Iterator[str]:
    """Git's own folders of the repository whose work lies in `top`: its `.git`, those of submodules at any
    depth, and those of worktrees. Links are not followed.
    """
    git = f"{top}/.git"
    if os.path.islink(git) or not os.path.isdir(git):  # noqa: PTH112, PTH114  # each command waits for this
        return
    yield git
    yield from _inner(git)


def git_files(top: str) -> Iterator[str]:
    """The `.git` files by which a worktree, or a submodule of the repository in `top`, finds its folder."""
    work = [top, *(one for folder in git_folders(top) if (one := _work_of(folder)))]
    yield from (f"{one}/.git" for one in work if os.path.isfile(f"{one}/.git"))  # noqa: PTH113  # as above


def branch_of(folder: Path) -> str:
    """The branch that a folder's repository, worktree or submodule is on, as its HEAD says; the beginning of
    a commit's name where it is on none, "" outside of a repository.
    """
    for above in (folder, *folder.parents):
        git = above / ".git"
        with suppress(OSError, ValueError):
            if git.is_file():
                git = above / git.read_text(encoding="utf-8", errors="replace").strip().removeprefix(
                    "gitdir: "
                )
            head = (git / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
            return head.removeprefix("ref: refs/heads/")[:60]
    return ""


def is_plain_config(text: str) -> bool:
    """Whether a file of settings holds no more than git itself writes into a new repository or a clone:
    nothing of that runs anything.
    """
    allowed: frozenset[str] = frozenset()
    for line in filter(None, map(str.strip, text.splitlines())):
        if section := _SECTION.fullmatch(line):
            allowed = _PLAIN.get(section[1].lower(), frozenset())
        elif not (setting := _SETTING.fullmatch(line)) or (setting[1] or setting[2]).lower() not in allowed:
            return False
    return True


def _inner(git: str) -> Iterator[str]:
    """The git folders inside a git folder; what is one holds a HEAD, and above those are plain folders."""
    found = [*_folders(f"{git}/modules"), *_folders(f"{git}/worktrees")]
    while found:
        folder = found.pop()
        if os.path.lexists(f"{folder}/HEAD"):
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
    with suppress(OSError), open(f"{folder}/config", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        if found := _WORKTREE.search(file.read(100_000)):
            return os.path.normpath(os.path.join(folder, found[1].strip()))  # noqa: PTH118
    return ""
