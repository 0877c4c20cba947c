"""What is known of the worktrees for sessions, kept in our home: no command of a session can write there, and
it is found by the place of a worktree as well as by that of its repository.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib import locks
from hermes.lib.beneath import FOLDER, held
from hermes.lib.files import make_private, write_atomic
from hermes.lib.removal import remove_tree
from hermes.types.error import StorageDamaged

BRANCHES: Final = "hermes"
"""Before the names of branches that worktrees for sessions are on."""
WORKTREES: Final = ".worktrees"
"""After the name of a repository's folder: the folder beside it that has its worktrees for sessions."""

DAMAGED: Final = (
    "{}, the record of a worktree for sessions, cannot be read ({}). Its folder is as it was: `git fetch"
    " FOLDER BRANCH:BRANCH` takes its commits. Remove the record to have the worktree forgotten."
)
_LOOK: Final = "look-"


class Worktree(Struct, frozen=True, kw_only=True):
    """A repository at `path` with one branch for sessions, made for the repository at `main`.

    It began with the commit `base`; `taken` is the last commit of it that was taken over, "" before the
    first.
    """

    name: str
    path: Path
    main: Path
    base: str
    taken: str = ""

    @property
    def branch(self) -> str:
        """Its branch, as people write it."""
        return f"{BRANCHES}/{self.name}"


class WorktreeRecords:
    """The records of one home; OSError where they cannot be written."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "worktrees"

    def keep(self, worktree: Worktree) -> None:
        """Have it known, as it is now."""
        write_atomic(self._file(worktree.path), msgspec.json.encode(worktree, enc_hook=str), mode=0o600)

    def drop(self, worktree: Worktree) -> None:
        """Have it known no longer."""
        self._file(worktree.path).unlink(missing_ok=True)
        with suppress(OSError):  # others are there
            self._folder.rmdir()

    def around(self, folder: Path) -> Worktree | None:
        """The worktree that a folder is, or lies in; StorageDamaged where its record cannot be read."""
        for place in (folder, *folder.parents):
            if place.parent.name.endswith(WORKTREES) and (found := _read(self._file(place))):
                return found
        return None

    def all(self) -> list[Worktree]:
        """All that are known, by repository and name; those that cannot be read are `damaged`."""
        found = [one for one in self._found() if isinstance(one, Worktree)]
        return sorted(found, key=lambda one: (one.main, one.name))

    def damaged(self) -> list[StorageDamaged]:
        """The records that cannot be read: nobody can tell of which worktree they are."""
        return [one for one in self._found() if isinstance(one, StorageDamaged)]

    def _found(self) -> Iterator[Worktree | StorageDamaged]:
        for file in sorted(self._folder.glob("*.json")):
            try:
                if found := _read(file):
                    yield found
            except StorageDamaged as error:
                yield error

    @contextmanager
    def room(self) -> Iterator[Path]:
        """A folder of our own for as long as one looks at a worktree; no command of a session sees it.

        What a process that was killed has left there goes.
        """
        make_private(self._folder)
        for left in self._folder.glob(f"{_LOOK}*.lock"):
            if lock := locks.take(left, b""):
                _clear(left.with_suffix(""), lock)
        lock, folder = self._locked()
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            _clear(folder, lock)

    def _locked(self) -> tuple[locks.HeldFile, Path]:
        """A name that no other process has, held as long as we are."""
        lock = None
        while lock is None:
            handle, name = tempfile.mkstemp(dir=self._folder, prefix=_LOOK, suffix=".lock")
            os.close(handle)
            lock = locks.take(Path(name), b"")
        return lock, Path(name).with_suffix("")

    def _file(self, path: Path) -> Path:
        return self._folder / f"{hashlib.sha256(bytes(path)).hexdigest()[:32]}.json"


def _clear(room: Path, lock: locks.HeldFile) -> None:
    with suppress(OSError), held(os.open(room.parent, FOLDER)) as above:
        remove_tree(above, room.name)
    lock.close()


def _read(file: Path) -> Worktree | None:
    """What a file tells; None where there is none, StorageDamaged where it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Worktree, dec_hook=_path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # also what is no text, or no path
        raise StorageDamaged(DAMAGED.format(file, error)) from error


def _path(kind: type, words: object) -> object:
    return kind(words)
