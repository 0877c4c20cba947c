"""Commits of single files to a git repository that may be anybody's: no hook, filter or other program that it
names is run, the user's own settings are not read, and what is staged or changed in it stays as it is.

Each commit is made from the objects of the last one, with an index of its own, and the branch moves only if
nobody else has moved it meanwhile.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hermes.lib.programs import find_program, search_path

ATTEMPTS: Final = 20
"""How often a commit is made anew because another process was faster."""
SECONDS: Final = 10.0
_SAFE: Final = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}
_NOBODY: Final = "0" * 40


class GitError(Exception):
    """What git said when it could not do something."""


class GitCommits:
    """The repository that a folder lies in; GitError when there is none, and for all that fails later."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *, author: str) -> None:
        self._folder = folder
        program = find_program("git", environ, (folder,))
        if program is None:
            raise GitError("git is not installed")
        self._program = program
        self._environ = _ENVIRONMENT | {"PATH": search_path(environ, (folder,))}
        for role in ("AUTHOR", "COMMITTER"):
            self._environ |= {f"GIT_{role}_NAME": author, f"GIT_{role}_EMAIL": f"{author.lower()}@localhost"}
        if not folder.exists() or not any(folder.iterdir()):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._git("init", "--quiet", "--template=")
        self._prefix = self._git("rev-parse", "--show-prefix")

    def commit(self, name: str, data: bytes | None, message: str) -> None:
        """Commit this content of a file of the folder, or that it is gone; nothing where it is so already."""
        for _ in range(ATTEMPTS):
            head = self._head()
            tree = self._tree_with(head, name, data)
            if head and tree == self._git("rev-parse", f"{head}^{{tree}}"):
                return
            parents = ("-p", head) if head else ()
            made = self._git("commit-tree", tree, *parents, "-m", message)
            try:
                self._git("update-ref", "-m", message, "HEAD", made, head or _NOBODY)
            except GitError:
                if self._head() == head:
                    raise
                continue
            self._note_in_index(name, data)
            return
        raise GitError("other processes commit to it all the time")

    def committed(self, name: str) -> bytes | None:
        """The content of a file in the last commit; None when it is not in it."""
        head = self._head()
        try:
            return self._run("cat-file", "blob", f"{head}:{self._prefix}{name}") if head else None
        except GitError:
            return None

    def _head(self) -> str:
        try:
            return self._git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        except GitError:
            return ""

    def _tree_with(self, head: str, name: str, data: bytes | None) -> str:
        with tempfile.TemporaryDirectory(prefix="hermes-git-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            if head:
                self._git("read-tree", head, extra=index)
            self._git(*self._change(name, data), extra=index)
            return self._git("write-tree", extra=index)

    def _change(self, name: str, data: bytes | None) -> tuple[str, ...]:
        """The command that puts a file in an index, or takes it out; what it contains is kept as it is."""
        if data is None:
            return "update-index", "--force-remove", "--", name
        blob = self._run("hash-object", "-w", "--no-filters", "--stdin", data=data).decode().strip()
        return "update-index", "--add", "--cacheinfo", f"100644,{blob},{self._prefix}{name}"

    def _note_in_index(self, name: str, data: bytes | None) -> None:
        """Have the user's own index agree with the commit; where somebody else writes it just now, it is they
        who see a difference.
        """
        try:
            self._git(*self._change(name, data))
        except GitError:
            return

    def _git(self, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
        return self._run(*arguments, extra=extra).decode("utf-8", "replace").strip()

    def _run(self, *arguments: str, data: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
        command = [self._program, "-C", str(self._folder), *_SAFE, *arguments]
        environ = {**self._environ, **(extra or {})}
        try:
            done = subprocess.run(
                command, input=data, env=environ, capture_output=True, timeout=SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(f"git {arguments[0]}: {error}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitError(f"git {arguments[0]}: {said[-1] if said else f'exit code {done.returncode}'}")
        return done.stdout
