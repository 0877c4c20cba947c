"""What makes git run something later: one table for mounts, file tools and the reading of commands."""

import os
import re
import stat
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
_ANY: Final = frozenset(
    {
        "defaultbranch",
        "ui",
        "diff",
        "status",
        "branch",
        "enabled",
        "autoupdate",
        "detachedhead",
        "skippedcherrypicks",
    }
)
_PLAIN: Final = {
    "core": frozenset(
        {"autocrlf", "eol", "safecrlf", "abbrev", "quotepath", "sparsecheckout", "sparsecheckoutcone"}
        | {"sharedrepository", "untrackedcache", "compression"}
        | {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "symlinks"}
        | {"precomposeunicode"}
    ),
    "remote": frozenset({"url", "fetch", "pushurl", "tagopt", "prune"}),
    "branch": frozenset({"remote", "merge", "rebase"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "extensions": frozenset({"objectformat", "worktreeconfig", "refstorage"}),
    "user": frozenset({"name", "email"}),
    **dict.fromkeys(
        ("pull", "push", "fetch"), frozenset({"rebase", "ff", "prune", "default", "autosetupremote"})
    ),
    **dict.fromkeys(("init", "color", "advice", "rerere"), _ANY),
}


def steers_git(path: str) -> bool:
    """Whether what is at a path chooses what a later git command runs; a `.git` as such does, for it may be a
    file that leads to another folder.
    """
    return bool(_STEERING.search(path.rstrip("/")))


def branch_of(folder: Path) -> str:
    """The branch that a folder's repository, worktree or submodule is on, as its HEAD says; the beginning of
    a commit's name where it is on none, "" outside of a repository.
    """
    for above in (folder, *folder.parents):
        git = above / ".git"
        with suppress(OSError, ValueError):
            if git.is_file():
                git = above / read_plain(str(git)).strip().removeprefix("gitdir: ")
            if head := read_plain(str(git / "HEAD")).strip():
                return head.removeprefix("ref: refs/heads/")[:60]
    return ""


def plain_config(text: str, folder: str = "", top: str = "") -> str:
    """The lines of a file of settings that git itself writes into a new repository or a clone, and such as
    run nothing, fetch nothing by themselves and write nowhere else; all of the text where there are no
    others. In the `folder` of a submodule it may name the place of its work below `top`.
    """
    own = "/.git/modules/" in folder and f"{named_work(text, folder)}/".startswith(f"{top}/")
    allowed: frozenset[str] = frozenset()
    kept = []
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        if section := _SECTION.fullmatch(plain):
            allowed = _PLAIN.get(section[1].lower(), frozenset())
        is_work = own and _WORKTREE.fullmatch(line.rstrip()) is not None
        if (section and allowed) or not plain or is_work or _is_allowed(plain, allowed):
            kept.append(line)
    return "".join(kept)


def _is_allowed(line: str, names: frozenset[str]) -> bool:
    setting = _SETTING.fullmatch(line)
    return setting is not None and (setting[1] or setting[2]).lower() in names


def named_work(text: str, folder: str) -> str:
    """Where the settings of a submodule in that git folder say that its work lies; "" where they do not."""
    found = _WORKTREE.search(text)
    return os.path.normpath(os.path.join(folder, found[1].strip())) if found else ""  # noqa: PTH118


def read_plain(path: str) -> str:
    """The text of a regular file, its first 100,000 bytes; "" for a pipe and the like, which would never end.
    OSError as usual.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(100_000).decode("utf-8", "replace")
