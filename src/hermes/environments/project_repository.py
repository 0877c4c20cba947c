"""The user's repository, as worktrees for sessions need it: what is in it is read, commits are taken into it,
and a branch of theirs is moved. It may be anybody's, so git runs nothing that it names (lib/safe_git.py).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from hermes.lib.git_packs import add_pack
from hermes.lib.odd_files import odd_around, odd_below
from hermes.lib.repository import read_plain
from hermes.lib.safe_git import GitError, SafeGit
from hermes.types.error import HermesError

_NO_LINKS: Final = (
    *("info", "objects", "objects/info", "objects/pack"),
    *("packed-refs", "refs", "refs/heads", "refs/hermes", "refs/hermes/worktrees"),
)
"""Where git, or we, would write through a link."""
_SPAN: Final = ("refs/heads", "refs/remotes", "refs/tags")


class ProjectRepository:
    """The repository that a folder lies in, whose checkout or linked worktree that is; `main` is its top.

    HermesError where there is none, or none that worktrees can be made of; GitError for all that fails later.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        if odd := odd_around(folder):  # git would wait for it
            raise HermesError(f"{odd} is no file; git is not started there.")
        try:
            self._here = SafeGit(folder, environ)
        except GitError as error:
            raise HermesError(f"A worktree needs git: {error}.") from error
        self.main = self._found(folder)
        if link := _link(self.main / ".git"):
            raise HermesError(f"{link} is a link; no worktrees are made of such a repository.")
        self._git = SafeGit(self.main, environ)

    @property
    def objects(self) -> Path:
        """The folder of its objects."""
        return self.main / ".git" / "objects"

    @property
    def shallow(self) -> str:
        """The commits whose parents are not there, a line each; "" where the history is whole."""
        return _read(self.main / ".git" / "shallow")

    def head(self) -> str:
        """The commit that is checked out where we are; "" where there is none yet."""
        return _said(self._here, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")

    def is_detached(self) -> bool:
        """Whether HEAD is on no branch where we are."""
        return not _said(self._here, "symbolic-ref", "--quiet", "HEAD")

    def has_changes(self) -> bool:
        """Whether something is changed where we are and not committed."""
        if odd := odd_below(Path(self._here.text("rev-parse", "--show-toplevel"))):
            raise GitError(f"{odd} is no file, and git would wait for it")
        shown = ("status", "--porcelain", "--ignore-submodules=all")
        return bool(self._here.text(*shown, extra=self._here.without_filters()))

    def has_filters(self) -> bool:
        """Whether files that are checked out here name filters, which make other files of what is stored."""
        files = ("HEAD", "--", ":(glob)**/.gitattributes")
        return bool(_said(self._here, "grep", "-l", "-E", "(^|[[:space:]])filter=", *files))

    def hashes(self) -> str:
        """The name of the hash that its objects have their names from."""
        return self._git.text("rev-parse", "--show-object-format")

    def setting(self, key: str) -> str:
        """What its own settings say; "" where they say nothing."""
        return _said(self._git, "config", "--local", "--get", key)

    def refs(self) -> Iterator[tuple[str, str]]:
        """Its branches, remote branches and tags: name and object."""
        listed = self._git.run("for-each-ref", "--format=%(objectname) %(refname)", *_SPAN)
        for line in os.fsdecode(listed).splitlines():
            commit, _, name = line.partition(" ")
            yield name, commit

    def tips(self, *, besides: str) -> list[str]:
        """What its branches but this one, remote branches and tags stand for, and what is checked out."""
        found = [commit for name, commit in self.refs() if name != f"refs/heads/{besides}"]
        head = _said(self._git, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        is_there = head and _said(self._git, "symbolic-ref", "--quiet", "HEAD") != f"refs/heads/{besides}"
        return list(dict.fromkeys([*found, *([head] if is_there else [])]))

    def commit_of(self, branch: str) -> str:
        """The commit of a branch; "" where there is none."""
        return _said(self._git, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}")

    def place_of(self, branch: str) -> str:
        """The folder in which a branch is checked out; "" where it is in none."""
        return self._git.text("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}")

    def count(self, commit: str, known: Iterable[str]) -> int:
        """How many commits one has in its history that the known ones have not."""
        wanted = "".join([f"{commit}\n", *(f"^{one}\n" for one in known)])
        return int(self._git.run("rev-list", "--count", "--stdin", data=wanted.encode()))

    def hold(self, name: str, objects: Iterable[str]) -> set[str]:
        """Keep objects, with all that they need, for the worktree of that name, whatever becomes of branches
        here; those of them that are there.
        """
        found = self._present(objects)
        self._refuse_led(*(f"{_held_by(name)}/{one}" for one in found))
        updates = "".join(f"update {_held_by(name)}/{one} {one}\n" for one in sorted(found))
        self._git.run(*_UPDATE, "--stdin", data=updates.encode())
        return found

    def release(self, name: str) -> None:
        """Keep nothing for the worktree of that name any longer."""
        held = self._git.text("for-each-ref", "--format=delete %(refname)", _held_by(name))
        if held:
            self._refuse_led(_held_by(name))
            self._git.run(*_UPDATE, "--stdin", data=f"{held}\n".encode())

    def receive(self, pack: Path, commit: str) -> None:
        """Take in the objects of a pack, each named anew after what it contains, and see that with them this
        commit is there with all that it needs; the folder of the pack is used meanwhile.
        """
        self._refuse_led()
        whole = pack.with_name("whole.pack")
        words = ("--stdin", "--fix-thin", "--strict", "-o", str(whole.with_suffix(".idx")), str(whole))
        said = self._git.read(pack, "index-pack", *words)
        add_pack(self.objects, whole, f"pack-{said.split()[-1]}")
        self._git.run("rev-list", "--objects", "--quiet", commit, "--not", "--all")

    def move(self, branch: str, commit: str, was: str) -> None:
        """Have a branch, made where `was` is "", stand for another commit, if it still stands for `was`."""
        self._refuse_led(f"refs/heads/{branch}")
        self._git.run(*_UPDATE, f"refs/heads/{branch}", commit, was or "0" * len(commit))

    def remove(self, branch: str, was: str) -> None:
        """Take a branch away, if it still stands for `was`."""
        self._refuse_led(f"refs/heads/{branch}")
        self._git.run(*_UPDATE, "-d", f"refs/heads/{branch}", was)

    def _present(self, objects: Iterable[str]) -> set[str]:
        """Those of the objects that are there."""
        wanted = "".join(f"{one}\n" for one in dict.fromkeys(objects))
        said = self._git.run("cat-file", "--batch-check=%(objectname)", data=wanted.encode())
        return {line for line in said.decode().splitlines() if not line.endswith(" missing")}

    def _refuse_led(self, *refs: str) -> None:
        """GitError where we, or git, would write objects, refs, those below them, or logs, through a link."""
        git = self.main / ".git"
        if link := _link(git):
            raise GitError(f"{link} is a link")
        for path in [f"{git}/{above}{ref}" for ref in refs for above in ("", "logs/")]:
            if os.path.realpath(path) != path:
                raise GitError(f"{path} is a link, or lies behind one")

    def _found(self, folder: Path) -> Path:
        """The top of the repository."""
        if _said(self._here, "rev-parse", "--is-bare-repository") == "true":
            raise HermesError(f"{folder} is a bare repository; start in a checkout of it.")
        if _said(self._here, "rev-parse", "--is-inside-work-tree") != "true":
            raise HermesError(f"{folder} is in no git repository; a worktree needs one.")
        if _said(self._here, "rev-parse", "--show-superproject-working-tree"):
            raise HermesError(f"{folder} is in a submodule; start in the repository that it belongs to.")
        common = Path(_said(self._here, "rev-parse", "--path-format=absolute", "--git-common-dir"))
        if common.name != ".git" or not common.is_dir() or (common / "reftable").exists():
            raise HermesError(f"The repository of {folder} keeps itself in another form than a folder .git.")
        return common.parent


_UPDATE: Final = ("-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref")


def _held_by(name: str) -> str:
    """Above the refs that keep what a worktree reads; `git branch` and `git tag` do not show them."""
    return f"refs/hermes/worktrees/{name}"


def _link(git: Path) -> Path | None:
    """What of git's own is a link: what is written there would be elsewhere."""
    return next((path for path in (git, *(git / name for name in _NO_LINKS)) if path.is_symlink()), None)


def _read(path: Path) -> str:
    try:
        return read_plain(str(path))
    except OSError:
        return ""


def _said(git: SafeGit, *arguments: str) -> str:
    """What git says; "" when it fails."""
    try:
        return git.text(*arguments)
    except GitError:
        return ""
