"""Worktrees of a repository for sessions: a folder and a branch for each, beside what the user works on.

They lie in REPOSITORY.worktrees, beside the repository: inside of it they would be part of what is searched
and saved there, and our own home is hidden from commands.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox.git_folders import BRANCHES, WORKTREES
from hermes.lib.safe_git import GitError, SafeGit
from hermes.types.error import HermesError

_SECONDS: Final = 600.0
"""What git may take: a large repository is written out whole."""
_NAME = re.compile(r"(?!.*(?:\.\.|\.lock$|\.$))[A-Za-z0-9][\w.-]{0,60}", re.ASCII)


class Worktree(Struct, frozen=True, kw_only=True):
    """A folder with a branch of its own of the repository at `main`."""

    name: str
    path: Path
    main: Path

    @property
    def branch(self) -> str:
        """Its branch, as people write it."""
        return f"{BRANCHES}/{self.name}"


class WorktreeState(Struct, frozen=True, kw_only=True):
    """What is in a worktree and nowhere else: commits, and files that are not committed."""

    commits: int = 0
    files: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is lost with it."""
        return not (self.commits or self.files)


class Worktrees:
    """The worktrees for sessions of the repository that a folder lies in.

    HermesError where there is no repository that could have some, and for what git cannot do.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._here = _git(folder, environ)
        self._environ = environ
        self.main = self._found(folder)

    def make(self, name: str) -> Worktree:
        """A new worktree with a branch of this name, on the commit that is checked out here."""
        if not _NAME.fullmatch(name):
            raise HermesError(f"{name!r} is no name for a worktree: take letters, digits, dots and dashes.")
        made = self.named(name)
        head = self._said("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if not head:
            raise HermesError(f"{self.main} has no commit yet; a worktree begins with one.")
        if self._said("rev-parse", "--quiet", "--verify", f"refs/heads/{made.branch}"):
            raise HermesError(
                f"There is a branch {made.branch} already; give another name. hermes worktrees list"
            )
        if made.path.exists():
            raise HermesError(f"There is {made.path} already; give another name.")
        try:
            add = ("worktree", "add", "--quiet", "--no-checkout", "-b", made.branch)
            self._here.run(*add, str(made.path), head)
            there = _git(made.path, self._environ)  # settings may hold there that do not hold here
            there.run("reset", "--quiet", "--hard", "--no-recurse-submodules", extra=there.without_filters())
        except BaseException as error:  # Ctrl-C too
            self._take_away(made)
            if isinstance(error, GitError):
                raise HermesError(f"The worktree could not be made: {error}.") from error
            raise
        return made

    def named(self, name: str) -> Worktree:
        """The worktree of that name, there or not."""
        return Worktree(
            name=name, path=self.main.with_name(f"{self.main.name}{WORKTREES}") / name, main=self.main
        )

    def all(self) -> list[Worktree]:
        """Those that are there, by name."""
        listed = self._said("worktree", "list", "--porcelain")
        paths = [
            line.removeprefix("worktree ") for line in listed.splitlines() if line.startswith("worktree ")
        ]
        known = (self.named(Path(path).name) for path in paths)
        return sorted((one for one in known if str(one.path) in paths), key=lambda one: one.name)

    def notes(self, made: Worktree) -> Iterator[str]:
        """What a new worktree does not have, or begins with, that somebody could take otherwise; HermesError
        when git cannot say.
        """
        try:
            here = self._here.without_filters()
            filtered = here or _git(made.path, self._environ).without_filters()
        except GitError as error:
            raise HermesError(f"What {made.path} begins with cannot be told: {error}.") from error
        if self._said("status", "--porcelain", "--ignore-submodules=all", extra=here):
            yield "changes here that are not committed are not in it"
        if not self._said("symbolic-ref", "--quiet", "HEAD"):
            yield f"HEAD is on no branch here: it begins with {self._said('rev-parse', '--short', 'HEAD')}"
        if filtered:
            yield "files that a filter makes (such as git-lfs) are there as they are stored"

    def state(self, worktree: Worktree) -> WorktreeState:
        """What is in it and nowhere else; HermesError when git cannot say."""
        others = ("--not", f"--exclude={worktree.branch}", "--branches", "--remotes", "--tags")
        try:
            here = self._here.text("rev-parse", "HEAD")
            if not worktree.path.is_dir():  # somebody took it away
                commits = self._here.text("rev-list", "--count", worktree.branch, *others, here)
                return WorktreeState(commits=int(commits))
            git = SafeGit(worktree.path, self._environ, seconds=_SECONDS)
            shown = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
            files = git.text(*shown, extra=git.without_filters()).splitlines()
            commits = git.text("rev-list", "--count", "HEAD", worktree.branch, *others, here)
        except GitError as error:
            raise HermesError(f"What is in {worktree.path} cannot be told: {error}.") from error
        return WorktreeState(commits=int(commits), files=len(files))

    def remove(self, worktree: Worktree) -> None:
        """Take a worktree away, with its branch and all that is in it; HermesError when that fails."""
        try:
            self._here.run("worktree", "remove", "--force", str(worktree.path))
            if self._said("rev-parse", "--quiet", "--verify", f"refs/heads/{worktree.branch}"):
                self._here.run("branch", "--quiet", "-D", worktree.branch)
        except GitError as error:
            raise HermesError(f"{worktree.path} could not be removed whole: {error}.") from error
        with suppress(OSError):  # others are there
            worktree.path.parent.rmdir()

    def _take_away(self, worktree: Worktree) -> None:
        """What is left of one that could not be made."""
        for words in (
            ("worktree", "remove", "--force", str(worktree.path)),
            ("branch", "-D", worktree.branch),
        ):
            self._said(*words)
        with suppress(OSError):
            worktree.path.parent.rmdir()

    def _found(self, folder: Path) -> Path:
        """The top of the repository that has the worktrees."""
        if self._said("rev-parse", "--is-bare-repository") == "true":
            raise HermesError(f"{folder} is a bare repository; start in a checkout of it.")
        if self._said("rev-parse", "--is-inside-work-tree") != "true":
            raise HermesError(f"{folder} is in no git repository; a worktree needs one.")
        if self._said("rev-parse", "--show-superproject-working-tree"):
            raise HermesError(f"{folder} is in a submodule; start in the repository that it belongs to.")
        common = Path(self._said("rev-parse", "--path-format=absolute", "--git-common-dir"))
        if common.name != ".git" or not common.is_dir() or (common / "reftable").exists():
            raise HermesError(f"The repository of {folder} keeps itself in another form than a folder .git.")
        return common.parent

    def _said(self, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
        """What git says; "" when it fails."""
        try:
            return self._here.text(*arguments, extra=extra)
        except GitError:
            return ""


def _git(folder: Path, environ: Mapping[str, str]) -> SafeGit:
    try:
        return SafeGit(folder, environ, seconds=_SECONDS)
    except GitError as error:
        raise HermesError(f"A worktree needs git: {error}.") from error
