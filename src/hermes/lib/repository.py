"""What makes git run something later: one table for mounts, file tools and the reading of commands."""

import os
import re
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
        | {"precomposeunicode"}
    ),
    "remote": frozenset({"url", "fetch", "pushurl", "tagopt", "prune"}),
    "branch": frozenset({"remote", "merge", "rebase"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "extensions": frozenset({"objectformat", "worktreeconfig", "refstorage"}),
    "user": frozenset({"name", "email"}),
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
    if "/.git/modules/" in folder and f"{named_work(text, folder)}/".startswith(f"{top}/"):
        text = _WORKTREE.sub("", text)
    allowed: frozenset[str] = frozenset()
    for line in filter(None, map(str.strip, text.splitlines())):
        if section := _SECTION.fullmatch(line):
            allowed = _PLAIN.get(section[1].lower(), frozenset())
        elif not (setting := _SETTING.fullmatch(line)) or (setting[1] or setting[2]).lower() not in allowed:
            return False
    return True


def named_work(text: str, folder: str) -> str:
    """Where the settings of a submodule in that git folder say that its work lies; "" where they do not."""
    found = _WORKTREE.search(text)
    return os.path.normpath(os.path.join(folder, found[1].strip())) if found else ""  # noqa: PTH118
