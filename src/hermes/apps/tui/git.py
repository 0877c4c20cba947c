"""What the screen asks git, so that nothing which a repository names itself is run: its settings may be
somebody else's.
"""

import subprocess
from contextlib import suppress
from pathlib import Path

import anyio

from hermes.config.environ import environment
from hermes.lib.child_processes import run_process
from hermes.lib.programs import find_program, search_path

_QUIET = (
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
)  # it writes nothing, and asks no program what has changed
_SECONDS = 2.0


async def git_branch(directory: Path) -> str:
    """The branch of a directory, with `*` when files have changed; empty outside of git or when git is slow.

    Nothing that the repository itself names is run: where its own settings have filters, changes are not
    looked for.
    """
    with anyio.move_on_after(_SECONDS), suppress(OSError):
        filters = await _git(directory, "config", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
        if any(line.startswith(("local", "worktree")) for line in filters):
            return "".join(await _git(directory, "symbolic-ref", "--short", "HEAD"))
        shown = ("--porcelain", "--branch", "--untracked-files=no", "--ignore-submodules=all")
        head, *changes = await _git(directory, "status", *shown) or [""]
        name = (
            head.removeprefix("## ").removeprefix("No commits yet on ").partition("...")[0].partition(" ")[0]
        )
        return f"{name}{'*' if changes else ''}"
    return ""


async def _git(directory: Path, *arguments: str) -> list[str]:
    """The lines that git prints; none when it fails."""
    found = await run_git(directory, *arguments)
    return found.stdout.decode("utf-8", "replace").splitlines() if found.returncode == 0 else []


async def run_git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says of a directory; OSError without a git, or with none but one that the directory brings."""
    environ = environment()
    environ["PATH"] = search_path(environ, (directory, Path.cwd()))
    # Settings of the repository could have git fetch what is missing, by a program of their choice
    environ |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    program = find_program("git", environ, (directory, Path.cwd()))
    if program is None:
        raise FileNotFoundError("git is not installed")
    return await run_process(
        [program, *_QUIET, *arguments], cwd=directory, env=environ, stderr=subprocess.DEVNULL
    )
