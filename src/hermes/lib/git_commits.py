"""Commits of single files to a git repository that may be anybody's: no hook, filter or other program that it
names is run, the user's own settings are not read, and what is staged or changed in it stays as it is.

Each commit is made from the objects of the last one, with an index of its own, and the branch moves only if
nobody else has moved it meanwhile.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hermes.lib.bounded_process import Bounds
from hermes.lib.safe_git import GitError, SafeGit

ATTEMPTS: Final = 20
"""How often a commit is made anew because another process was faster."""
BOUNDS: Final = Bounds(idle=10, seconds=10)
_NOBODY: Final = "0" * 40


class GitCommits:
    """The repository that a folder lies in; GitError when there is none, and for all that fails later."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *, author: str) -> None:
        named = {"NAME": author, "EMAIL": f"{author.lower()}@localhost"}
        roles = {f"GIT_{role}_{key}": said for role in ("AUTHOR", "COMMITTER") for key, said in named.items()}
        self._git = SafeGit(folder, environ, roles, BOUNDS)
        if not folder.exists() or not any(folder.iterdir()):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._git.text("init", "--quiet", "--template=")
        self._prefix = self._git.text("rev-parse", "--show-prefix")

    def commit(self, name: str, data: bytes | None, message: str) -> None:
        """Commit this content of a file of the folder, or that it is gone; nothing where it is so already."""
        for _ in range(ATTEMPTS):
            head = self._head()
            tree = self._tree_with(head, name, data)
            if head and tree == self._git.text("rev-parse", f"{head}^{{tree}}"):
                return
            parents = ("-p", head) if head else ()
            made = self._git.text("commit-tree", tree, *parents, "-m", message)
            try:
                self._git.text("update-ref", "-m", message, "HEAD", made, head or _NOBODY)
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
            return self._git.run("cat-file", "blob", f"{head}:{self._prefix}{name}") if head else None
        except GitError:
            return None

    def _head(self) -> str:
        try:
            return self._git.text("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        except GitError:
            return ""

    def _tree_with(self, head: str, name: str, data: bytes | None) -> str:
        with tempfile.TemporaryDirectory(prefix="hermes-git-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            if head:
                self._git.text("read-tree", head, extra=index)
            self._git.text(*self._change(name, data), extra=index)
            return self._git.text("write-tree", extra=index)

    def _change(self, name: str, data: bytes | None) -> tuple[str, ...]:
        """The command that puts a file in an index, or takes it out; what it contains is kept as it is."""
        if data is None:
            return "update-index", "--force-remove", "--", name
        blob = self._git.run("hash-object", "-w", "--no-filters", "--stdin", data=data).decode().strip()
        return "update-index", "--add", "--cacheinfo", f"100644,{blob},{self._prefix}{name}"

    def _note_in_index(self, name: str, data: bytes | None) -> None:
        """Have the user's own index agree with the commit; where somebody else writes it just now, it is they
        who see a difference.
        """
        try:  # git reads files again that were changed in the second of the index, through their filters
            self._git.text(*self._change(name, data), extra=self._git.without_filters())
        except GitError:
            return
