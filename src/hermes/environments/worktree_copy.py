"""A worktree as git may look at it: what lies in its own `.git` is a session's, so git is never run with
that, but with a repository of our making that has copies of its objects.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hermes.environments.project_repository import ProjectRepository
from hermes.environments.worktree_records import Worktree, WorktreeRecords
from hermes.lib import foreign_git
from hermes.lib.beneath import held
from hermes.lib.odd_files import odd_below
from hermes.lib.safe_git import GitError, SafeGit
from hermes.lib.trees import Room, TooLarge
from hermes.types.error import HermesError

MOST_BYTES: Final = 2 << 30
MOST_OBJECTS: Final = 200_000
_LARGEST: Final = 16 << 20
"""Bytes of a commit, tree or tag: git has each of them in memory whole."""
_LARGE: Final = 64 << 20
_GITLINK: Final = b"160000"
_CHANGED: Final = (
    *("-c", "core.bigFileThreshold=4g"),  # above it git compresses a file to know its name
    *("ls-files", "--modified", "--others", "--exclude-standard", "-z"),
)
_AS_WRITTEN: Final = "--format=%an%x00%ae%x00%at%x00%s"
"""What an amended or rebased commit keeps of the one that it stands for."""


class WorktreeCopy:
    """A bare repository with the objects of a worktree, beside those of its project."""

    def __init__(
        self, git: SafeGit, branches: Mapping[str, str], made: list[str], worktree: Worktree
    ) -> None:
        self._git, self._branches, self._made, self._worktree = git, branches, made, worktree

    @property
    def commit(self) -> str:
        """What its branch stands for; what it began with, where that branch is gone."""
        return self._branches.get(self._worktree.branch, self._worktree.base)

    def other_branches(self, known: Iterable[str]) -> dict[str, str]:
        """The commits of the branches, by name, that have some which neither its own has nor the known
        commits.
        """
        own = self._worktree.branch
        tips = {name: tip for name, tip in sorted(self._branches.items()) if tip and name != own}
        wanted = _range(tips.values(), (*known, self.commit))
        new = set(self._git.run("rev-list", "--ignore-missing", "--stdin", data=wanted).decode().split())
        return {name: tip for name, tip in tips.items() if tip in new}

    def count(self, commits: Iterable[str], known: Iterable[str]) -> int:
        """How many commits these have in their history that the known ones have not; GitError when they
        cannot be read.
        """
        return int(self._git.run("rev-list", "--count", "--stdin", data=_range(commits, known)))

    def strays(self, known: Iterable[str]) -> int:
        """How many commits were made there that neither its branch nor the known ones have, and that were not
        only written anew.
        """
        left = self._written(self._made, (*known, self.commit))
        again = set(self._written((self.commit,), (self._worktree.base,))) if left else set()
        return sum(one not in again for one in left)

    def changed_files(self) -> int:
        """How many files differ from the commit, or are new and not ignored; a repository in a folder is one,
        whatever the commit says of it.
        """
        if odd := odd_below(self._worktree.path):
            raise GitError(f"{odd} is no file, and git would wait for it")
        self._git.run("read-tree", self.commit)
        listed = self._git.run("ls-files", "--stage", "-z").split(b"\0")
        links = [line.partition(b"\t")[2] for line in listed if line.startswith(_GITLINK)]
        if links:
            self._git.run("update-index", "--force-remove", "-z", "--stdin", data=b"\0".join([*links, b""]))
        if resized := self._resized(listed):
            self._git.run(
                "update-index", "--assume-unchanged", "-z", "--stdin", data=b"\0".join([*resized, b""])
            )
        # not git diff, which has both contents of a file in memory
        return len(resized) + self._git.look(*_CHANGED).count(b"\0")

    def _resized(self, listed: Iterable[bytes]) -> list[bytes]:
        """The large files that have another size than in the index, of which git would read every byte."""
        large: dict[bytes, tuple[bytes, int]] = {}
        for line in listed:
            about, _, name = line.partition(b"\t")
            with suppress(OSError):
                size = os.lstat(os.path.join(os.fsencode(self._worktree.path), name)).st_size  # noqa: PTH118
                if name and size > _LARGE:
                    large[name] = (about.split()[1], size)
        asked = b"".join(commit + b"\n" for commit, _ in large.values())
        sizes = (
            self._git.run("cat-file", "--batch-check=%(objectsize)", data=asked).split(b"\n") if large else []
        )
        return [
            name for (name, (_, now)), size in zip(large.items(), sizes, strict=False) if size != b"%d" % now
        ]

    def pack(self, file: Path, known: Iterable[str]) -> None:
        """Write what its branch has and the known commits have not to a pack."""
        wanted = _range((self.commit,), (*known, self._worktree.base))
        self._git.write(file, "pack-objects", "--revs", "--thin", "--stdout", "--quiet", data=wanted)

    def _written(self, commits: Iterable[str], known: Iterable[str]) -> list[bytes]:
        """Who wrote the commits, when, and in which words."""
        shown = ("rev-list", "--no-commit-header", _AS_WRITTEN, "--stdin")
        return self._git.run(*shown, data=_range(commits, known)).split(b"\n")[:-1]


@contextmanager
def copied(
    worktree: Worktree, project: ProjectRepository, records: WorktreeRecords, environ: Mapping[str, str]
) -> Iterator[tuple[WorktreeCopy, Path]]:
    """A copy of a worktree's repository, and a folder of our own, for as long as they are needed.

    HermesError says why it cannot be had: it is damaged, too large, or git fails, then and later.
    """
    try:
        with records.room() as room:
            yield _copy(worktree, project, room, environ), room
    except TooLarge:
        why = f"it has more than {MOST_OBJECTS:,} objects, or they are more than {MOST_BYTES >> 30} GiB"
        raise HermesError(f"What is in {worktree.path} cannot be told: {why}.") from None
    except (GitError, OSError) as error:
        raise HermesError(f"What is in {worktree.path} cannot be told: {_why(error)}.") from error


def _copy(
    worktree: Worktree, project: ProjectRepository, room: Path, environ: Mapping[str, str]
) -> WorktreeCopy:
    own = room / "git"
    own.mkdir()
    form = f"--object-format={project.hashes()}"
    SafeGit(own, environ).run("init", "--quiet", "--bare", "--template=", form)
    (own / "objects").rename(own / "empty")
    with held(foreign_git.open_git(worktree.path)) as git:
        branches = foreign_git.branches(git)
        foreign_git.copy_objects(git, own / "objects", Room(MOST_BYTES, MOST_OBJECTS))
    if branches.get(worktree.branch) == "":
        raise GitError(f"its branch {worktree.branch} stands for no commit")
    git_there = SafeGit(worktree.path, environ, _places(own, worktree.path))
    made = _commits(git_there)  # before the objects of the project are beside them
    join(own, project)
    return WorktreeCopy(git_there, branches, made, worktree)


def _why(error: GitError | OSError) -> str:
    if isinstance(error, GitError) or not error.filename:
        return str(error)
    where = "" if os.path.isabs(error.filename) else " below its .git"  # noqa: PTH117  # words
    what = "is a link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
    return f"{error.filename}{where} {what}"


def tip(worktree: Worktree) -> str:
    """The commit that its branch stands for; "" where that cannot be told."""
    try:
        with held(foreign_git.open_git(worktree.path)) as git:
            return foreign_git.branches(git).get(worktree.branch, "")
    except OSError:
        return ""


def join(git: Path, project: ProjectRepository) -> None:
    """Have a git folder find the objects of the project; it stays as it is."""
    (git / "objects" / "info").mkdir(exist_ok=True)
    (git / "objects" / "info" / "alternates").write_bytes(bytes(project.objects) + b"\n")
    if shallow := project.shallow:
        (git / "shallow").write_text(shallow)


def _places(git: Path, work: Path) -> dict[str, str]:
    return {"GIT_DIR": str(git), "GIT_WORK_TREE": str(work), "GIT_INDEX_FILE": str(git / "index")}


def _commits(git: SafeGit) -> list[str]:
    """The commits among the objects of a repository; TooLarge or GitError before git has read one whole, for
    what is small when packed may be as large as it likes.
    """
    form = "--batch-check=%(objecttype) %(objectsize) %(objectname)"
    listed = git.run("cat-file", "--batch-all-objects", "--unordered", form)
    room, found = Room(MOST_BYTES, MOST_OBJECTS), []
    for line in listed.decode().splitlines():
        kind, _, rest = line.partition(" ")
        size, _, name = rest.partition(" ")
        if not size.isdecimal():
            raise GitError("an object there is damaged")
        if kind != "blob" and int(size) > _LARGEST:
            raise GitError(f"the {kind} {name[:12]} is larger than {_LARGEST >> 20} MiB")
        room.take(int(size))
        if kind == "commit":
            found.append(name)
    return found


def _range(commits: Iterable[str], known: Iterable[str]) -> bytes:
    return os.fsencode("".join([*(f"{one}\n" for one in commits), *(f"^{one}\n" for one in known)]))
