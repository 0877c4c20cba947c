"""What makes git run something later: one table for mounts, file tools and the reading of commands."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
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
        | {"precomposeunicode"}
    ),
    "remote": frozenset({"url", "fetch", "pushurl", "tagopt", "prune"}),
    "branch": frozenset({"remote", "merge", "rebase"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "extensions": frozenset({"objectformat", "worktreeconfig", "refstorage"}),
    "user": frozenset({"name", "email"}),
}


_LINK_MODE: Final = b"\0\0\xe0\0"  # 160000 in octal, as the index has it
_QUIET: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def steers_git(path: str) -> bool:
    """Whether what is at a path chooses what a later git command runs; a `.git` as such does, for it may be a
    file that leads to another folder.
    """
    return bool(_STEERING.search(path.rstrip("/")))


def git_folders(top: str) -> Iterator[str]:
    """Git's own folders of the repository whose work lies in `top`: its `.git`, or `top` itself where it has
    the layout of a bare one; those of submodules at any depth, also of folders that the index has as such,
    and those of worktrees. Links are not followed.
    """
    git = f"{top}/.git"
    if _is_folder(git):
        yield git
        yield from _inner(git)
        for work in _linked(top):
            if _is_folder(f"{work}/.git"):
                yield f"{work}/.git"
                yield from _inner(f"{work}/.git")
    if os.path.lexists(f"{top}/HEAD") and _is_folder(f"{top}/objects") and _is_folder(f"{top}/refs"):
        yield top


def git_files(top: str) -> Iterator[str]:
    """The `.git` files by which a worktree, or a submodule of the repository in `top`, finds its folder."""
    work = [top, *_linked(top), *(one for folder in git_folders(top) if (one := _work_of(folder)))]
    yield from (f"{one}/.git" for one in dict.fromkeys(work) if os.path.isfile(f"{one}/.git"))  # noqa: PTH113


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


def is_plain_config(text: str, folder: str = "", top: str = "") -> bool:
    """Whether a file of settings holds no more than git itself writes into a new repository or a clone:
    nothing of that runs anything, fetches by itself or writes elsewhere. In the `folder` of a submodule it
    may name the place of its work below `top`.
    """
    if "/.git/modules/" in folder and f"{_named_work(text, folder)}/".startswith(f"{top}/"):
        text = _WORKTREE.sub("", text)
    allowed: frozenset[str] = frozenset()
    for line in filter(None, map(str.strip, text.splitlines())):
        if section := _SECTION.fullmatch(line):
            allowed = _PLAIN.get(section[1].lower(), frozenset())
        elif not (setting := _SETTING.fullmatch(line)) or (setting[1] or setting[2]).lower() not in allowed:
            return False
    return True


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
    with suppress(OSError), open(f"{folder}/config", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return _named_work(file.read(100_000), folder)
    return ""


def _named_work(text: str, folder: str) -> str:
    found = _WORKTREE.search(text)
    return os.path.normpath(os.path.join(folder, found[1].strip())) if found else ""  # noqa: PTH118


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114  # each command waits for this


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
