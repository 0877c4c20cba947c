"""Worktrees of a repository for sessions: a folder and a branch for each, beside what the user works on.

They lie in REPOSITORY.worktrees, beside the repository: inside of it they would be part of what is searched
and saved there, and our own home is hidden from commands. Each is a repository of its own that only reads the
objects of the user's: what a session writes is in its workspace, and what of that goes into the user's
repository goes through our hands.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.environments.project_repository import ProjectRepository
from hermes.environments.worktree_copy import WorktreeCopy, copied, join
from hermes.environments.worktree_records import WORKTREES, Worktree, WorktreeRecords
from hermes.lib.beneath import FOLDER, held, open_path
from hermes.lib.removal import remove_tree
from hermes.lib.safe_git import GitError, SafeGit
from hermes.lib.trees import Room, copy_aside
from hermes.types.error import HermesError, StorageDamaged

_NAME = re.compile(r"(?!.*(?:\.\.|\.lock$|\.$))[A-Za-z0-9][\w.-]{0,60}", re.ASCII)


class WorktreeState(Struct, frozen=True, kw_only=True):
    """What is in a worktree and nowhere else: commits of its branch that no other has, commits that no branch
    has any more, other branches with commits of their own, and files that are not committed.

    `left` says why its commits are not in the user's repository, where they are not.
    """

    commits: int = 0
    strays: int = 0
    branches: tuple[str, ...] = ()
    files: int = 0
    left: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is lost with it."""
        return not (self.commits or self.strays or self.branches or self.files)


class Worktrees:
    """The worktrees for sessions of the repository that a folder lies in, be it in one of them.

    HermesError where there is no repository that could have some, and for what cannot be done.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], home: Path) -> None:
        self._environ, self._records = environ, WorktreeRecords(home)
        self.around = self._records.around(folder)
        self._project = ProjectRepository(self.around.main if self.around else folder, environ)
        self.main = self._project.main

    def make(self, name: str) -> Worktree:
        """A new worktree with a branch of this name, on the commit that is checked out here."""
        made = self._planned(name)
        _claim(made.path)
        try:
            self._records.keep(made)
            with self._records.room() as room:
                tree = room / "tree"
                self._fill(tree, made)
                _put(tree, made.path)
        except BaseException as error:  # Ctrl-C too
            with suppress(OSError, GitError):  # what stays is known, so that it can be removed
                _clear(made)
                self._project.release(made.name)
                self._records.drop(made)
            if isinstance(error, GitError | OSError):
                raise HermesError(f"The worktree could not be made: {error}.") from error
            raise
        return made

    def all(self) -> list[Worktree]:
        """Those that are known, by name."""
        return [one for one in self._records.all() if one.main == self.main]

    def damaged(self) -> list[StorageDamaged]:
        """What is known of others and cannot be read."""
        return self._records.damaged()

    def named(self, name: str) -> Worktree:
        """The worktree of that name; HermesError where there is none, or none that can be read."""
        for one in self.all():
            if one.name == name:
                return one
        for damage in self.damaged():
            raise damage
        path = self._path(name)
        if path.is_dir() and _NAME.fullmatch(name):
            raise HermesError(
                f"{path} was not made by hermes -w, or with another HERMES_HOME; it stays as it is."
            )
        raise HermesError(f"There is no worktree {name!r}; hermes worktrees list shows what there is.")

    def notes(self) -> Iterator[str]:
        """What a new worktree does not have, or begins with, that somebody could take otherwise; HermesError
        when git cannot say.
        """
        try:
            if self._project.has_changes():
                yield "changes here that are not committed are not in it"
            if self._project.is_detached():
                yield f"HEAD is on no branch here: it begins with {self._project.head()[:7]}"
            if self._project.has_filters():
                yield "files that a filter makes (such as git-lfs) are there as they are stored"
        except GitError as error:
            raise HermesError(f"What it begins with cannot be told: {error}.") from error

    def take_over(self, worktree: Worktree) -> WorktreeState:
        """Have the branch of a worktree in the user's repository as it is there, and give what is in it and
        nowhere else; HermesError when that cannot be told, and nothing is changed then.
        """
        worktree = self._records.around(worktree.path) or worktree
        if not os.path.lexists(worktree.path):  # somebody took it away
            return WorktreeState(commits=self._commits_left(worktree))
        with copied(worktree, self._project, self._records, self._environ) as (copy, room):
            others = self._project.tips(besides=worktree.branch)
            left = self._taken(worktree, copy, room / "pack", others)
            there = self._project.commit_of(worktree.branch)
            of_branch = (copy.commit, *([there] if there else []))
            branches = copy.other_branches((*others, *of_branch))
            return WorktreeState(
                commits=copy.count(of_branch, others),
                strays=copy.strays((*others, *of_branch, *branches.values())),
                branches=tuple(branches),
                files=copy.changed_files(),
                left=left,
            )

    def remove(self, worktree: Worktree) -> str:
        """Take a worktree away, with its branch and all that is in it; why the branch stays, where it does.
        HermesError when that fails.
        """
        try:
            _clear(worktree)
            stays = self._without_branch(worktree.branch)
            self._project.release(worktree.name)
            self._records.drop(worktree)
        except (GitError, OSError) as error:
            raise HermesError(f"{worktree.path} could not be removed whole: {error}.") from error
        return stays

    def _planned(self, name: str) -> Worktree:
        if not _NAME.fullmatch(name):
            raise HermesError(f"{name!r} is no name for a worktree: take letters, digits, dots and dashes.")
        if self.around:
            raise HermesError(f"This is a worktree of sessions itself; start in {self.main}.")
        made = Worktree(name=name, path=self._path(name), main=self.main, base=self._project.head())
        if not made.base:
            raise HermesError(f"{self.main} has no commit yet; a worktree begins with one.")
        if "\n" in str(made.path) or "\udc80" <= max(str(made.path)) <= "\udcff":
            raise HermesError(f"{self.main} has a name that is no line of text; give the folder another one.")
        if any(one.name == name for one in self.all()):
            raise HermesError(f"There is a worktree {name} already; hermes worktrees list shows it.")
        if self._project.commit_of(made.branch):
            how = f"git branch -D {made.branch} removes it"
            raise HermesError(f"There is a branch {made.branch} already; give another name, or {how}.")
        if self._project.commit_of(above := made.branch.partition("/")[0]):
            raise HermesError(f"There is a branch {above}, beside which git takes no {made.branch}.")
        return made

    def _path(self, name: str) -> Path:
        return self.main.with_name(f"{self.main.name}{WORKTREES}") / name

    def _fill(self, tree: Path, made: Worktree) -> None:
        """Make the repository with its files, in a folder of ours: no command of a session reaches it yet."""
        tree.mkdir()
        git = SafeGit(tree, self._environ)
        form = f"--object-format={self._project.hashes()}"
        git.run("init", "--quiet", "--template=", form, f"--initial-branch={made.branch}")
        join(tree / ".git", self._project)
        for key in ("user.name", "user.email"):
            if said := self._project.setting(key):
                git.run("config", key, said)
        (tree / ".git" / "packed-refs").write_bytes(os.fsencode("".join(self._packed(made))))
        git.run("reset", "--quiet", "--hard", "--no-recurse-submodules", made.base)

    def _packed(self, made: Worktree) -> Iterator[str]:
        """The lines of the user's branches, as those of a remote, and of remote branches and tags.

        The user may remove or rewrite any of them, so what they stand for is kept for the worktree.
        """
        refs = [one for one in self._project.refs() if not one[0].startswith("refs/remotes/project/")]
        there = self._project.hold(made.name, (made.base, *(commit for _, commit in refs)))
        for name, commit in refs:
            if commit in there:
                yield f"{commit} {name.replace('refs/heads/', 'refs/remotes/project/', 1)}\n"

    def _taken(self, worktree: Worktree, copy: WorktreeCopy, pack: Path, others: list[str]) -> str:
        """Take the commits over; why they are not, where they are not."""
        there, branch = self._project.commit_of(worktree.branch), worktree.branch
        known = (*others, *([there] if there else []))
        if not copy.count((copy.commit,), known):
            if there == copy.commit != worktree.taken:  # we were killed right after it was moved
                self._records.keep(replace(worktree, taken=there))
            return ""
        if _was_moved(worktree, copy, there, others):
            if copy.commit != worktree.taken:
                self._receive(worktree, copy, pack, known)
                self._records.keep(replace(worktree, taken=copy.commit))
            return f"the branch {branch} was moved or removed; git branch NAME {copy.commit[:12]} gets them"
        if there and there != worktree.taken and copy.count((there,), (copy.commit,)):
            return f"the branch {branch} has others; rename it, then hermes worktrees list takes them over"
        if there and (place := self._project.place_of(branch)):
            return f"{branch} is checked out in {place}; after a switch there hermes worktrees list does it"
        self._receive(worktree, copy, pack, known)
        self._project.move(branch, copy.commit, there)
        self._records.keep(replace(worktree, taken=copy.commit))
        return ""

    def _receive(self, worktree: Worktree, copy: WorktreeCopy, pack: Path, known: tuple[str, ...]) -> None:
        copy.pack(pack, known)
        self._project.receive(pack, copy.commit)
        # git there removes its own copies of what it finds here
        self._project.hold(worktree.name, (worktree.base, copy.commit))

    def _commits_left(self, worktree: Worktree) -> int:
        try:
            there = self._project.commit_of(worktree.branch)
            others = self._project.tips(besides=worktree.branch)
            return self._project.count(there, others) if there else 0
        except GitError as error:
            raise HermesError(f"What the branch {worktree.branch} has cannot be told: {error}.") from error

    def _without_branch(self, branch: str) -> str:
        """Remove a branch of the user's repository, if it is there; why it stays, where it does."""
        there = self._project.commit_of(branch)
        if there and (place := self._project.place_of(branch)):
            return f"it is checked out in {place}"
        if there:
            self._project.remove(branch, there)
        return ""


def _was_moved(worktree: Worktree, copy: WorktreeCopy, there: str, others: list[str]) -> bool:
    """Whether the user took commits off the branch, or removed it before they were on another."""
    if worktree.taken in {"", there}:
        return False
    return copy.count((worktree.taken,), (there,) if there else others) > 0


def _claim(path: Path) -> None:
    """Make the folder, which of all that want it only one can; HermesError for the others."""
    try:
        path.parent.mkdir(exist_ok=True)
        if path.parent.is_symlink():
            raise HermesError(f"{path.parent} is a link; a worktree would lie elsewhere.")
        path.mkdir()
    except FileExistsError:
        if not path.parent.is_dir():
            raise HermesError(f"{path.parent} is no folder; worktrees would lie in it.") from None
        raise HermesError(f"There is {path} already; give another name.") from None
    except OSError as error:
        raise HermesError(f"The worktree could not be made: {error}.") from error


def _clear(worktree: Worktree) -> None:
    """Remove its folder, and the one for all where it was the last."""
    with suppress(FileNotFoundError), held(open_path(worktree.path.parent, FOLDER)) as above:
        remove_tree(above, worktree.name)
    with suppress(OSError):  # others are there
        worktree.path.parent.rmdir()


def _put(tree: Path, path: Path) -> None:
    """Have the tree in the place of an empty folder; across file systems it is copied, by descriptors."""
    try:
        tree.rename(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        room = Room(1 << 50, 1 << 40)
        for one in sorted(tree.iterdir()):
            copy_aside(one, path / one.name, room)
