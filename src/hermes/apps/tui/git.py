"""What the screen asks git, so that nothing which a repository names itself is run: its settings may be somebody else's."""

import subprocess
from contextlib import suppress
from pathlib import Path

import anyio

QUIET = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""A git that writes nothing, and asks no program which files have changed."""

_SECONDS = 2.0


async def git_branch(directory: Path) -> str:
    """The branch of a directory, with `*` when files have changed; empty outside of git or when git is slow.

    Nothing that the repository itself names is run: where its own settings have filters, changes are not looked for.
    """
    with anyio.move_on_after(_SECONDS), suppress(OSError):
        filters = await _git(directory, "config", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
        if any(line.startswith(("local", "worktree")) for line in filters):
            return "".join(await _git(directory, "symbolic-ref", "--short", "HEAD"))
        shown = ("--porcelain", "--branch", "--untracked-files=no", "--ignore-submodules=all")
        head, *changes = await _git(directory, "status", *shown) or [""]
        name = head.removeprefix("## ").removeprefix("No commits yet on ").partition("...")[0].partition(" ")[0]
        return f"{name}{'*' if changes else ''}"
    return ""


async def _git(directory: Path, *arguments: str) -> list[str]:
    """The lines that git prints; none when it fails."""
    found = await anyio.run_process([*QUIET, *arguments], cwd=directory, check=False, stderr=subprocess.DEVNULL)
    return found.stdout.decode("utf-8", "replace").splitlines() if found.returncode == 0 else []
