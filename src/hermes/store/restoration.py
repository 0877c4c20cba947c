"""Carry out what going back to a snapshot takes, one path after the other."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from hermes.lib.beneath import FOLDER, READ_FILE, held, open_path
from hermes.lib.trees import aside_name, make_folder, put_back, rename, set_mode, take_away
from hermes.store.checkpoints import CheckpointStore
from hermes.store.packs import digest_of
from hermes.store.rollback_plan import RollbackPlan, is_within
from hermes.store.snapshot import Entry, Tree
from hermes.types.error import StoreError

_LENT: Final = 0o7000
_CHANGED: Final = "it has changed meanwhile"
_FILLED: Final = "something has come into it meanwhile"


class Restoration:
    """Brings paths of a workspace back to what they were `before`, from what was saved of it `now`. What has
    changed again since then is left alone. What cannot be done is in `failed` with why, and stops nothing.
    """

    def __init__(self, store: CheckpointStore, workspace: str, before: Tree, now: Tree) -> None:
        self._store, self._root = store, Path(workspace)
        self._before, self._now = before, now
        self._modes: dict[str, int] = {}
        self.kept_back: dict[str, None] = {}
        self.aside: dict[str, str] = {}
        self.back: dict[str, str] = {}
        self.removed: list[str] = []
        self.failed: dict[str, str] = {}

    def carry_out(self, plan: RollbackPlan, token: str) -> None:
        """Do what a plan says; names of what is moved aside end in a part of `token`."""
        beside = self._store.beside(f"{token}.back")
        try:
            self._each(plan.write, partial(self._unpack, beside))
            self._each(plan.aside, partial(self._move_aside, token))
            self._each(plan.remove[::-1], partial(self._remove, (*plan.unsaved, *plan.changed)))
            self._each([path for path in plan.write if path not in self.failed], partial(self._write, beside))
            names = dict(plan.back)
            self._each(list(names), lambda path: self._bring_back(path, names[path]))
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            modes, self._modes = self._modes, {}
            self._each(sorted(modes, reverse=True), lambda path: set_mode(self._root / path, modes[path]))

    def is_kept_back(self, path: str) -> bool:
        """Whether a file was not written because it would run something."""
        return str(self._root / path) in self.kept_back

    def _each(self, paths: Sequence[str], work: Callable[[str], object]) -> None:
        """Do something for each path; a folder of the user's that nothing may be changed in is opened."""
        for path in paths:
            try:
                try:
                    work(path)
                except PermissionError:
                    self._open(str(PurePosixPath(path).parent))
                    work(path)
            except OSError as error:
                self.failed[path] = error.strerror or str(error)
            except StoreError as error:
                self.failed[path] = str(error).rstrip(".")

    def _open(self, folder: str) -> None:
        place = self._root / folder
        old = stat.S_IMODE(place.lstat().st_mode)
        set_mode(place, old | stat.S_IRWXU)
        self._modes.setdefault(folder, old)

    def _unpack(self, beside: Path, path: str) -> None:
        self._store.snapshots.unpack(self._before[path], beside / path)

    def _move_aside(self, token: str, path: str) -> None:
        if self._store.guarded.starts(str(self._root / path)):
            self.kept_back[str(self._root / path)] = None
        else:
            name = aside_name(PurePosixPath(path).name, token)
            rename(self._root / path, name)
            self.aside[path] = str(PurePosixPath(path).with_name(name))

    def _bring_back(self, path: str, aside: str) -> None:
        """Give what has made way its name again; what is there instead goes, for it was saved."""
        target, kept = self._root / path, self._root / aside
        refuses = self._store.guarded.refuses(target, kept)
        inside = (Path(folder, name) for folder, *names in os.walk(kept) for name in [*names[0], *names[1]])
        if any(refuses(str(target / one.relative_to(kept))) for one in (kept, *inside)):
            self.kept_back[str(target)] = None
            return
        for one in sorted((one for one in self._now if is_within(one, path)), reverse=True):
            if not _is_as(self._root / one, self._now[one]):
                raise OSError(errno.EBUSY, _CHANGED, str(target))
            if not take_away(self._root / one):
                raise OSError(errno.ENOTEMPTY, _FILLED, str(target))
        rename(kept, target.name)
        self.back[path] = aside

    def _remove(self, left: Sequence[str], path: str) -> None:
        target = self._root / path
        if self._store.guarded.starts(str(target)):
            self.kept_back[str(target)] = None
        elif not _is_as(target, self._now[path]):
            self.failed[path] = _CHANGED
        elif take_away(target):
            self.removed.append(path)
        elif not any(one.startswith(f"{path}/") for one in (*left, *self.failed)):
            self.failed[path] = _FILLED

    def _write(self, beside: Path, path: str) -> None:
        target, entry, now = self._root / path, self._before[path], self._expected(path)
        if not _is_as(target, now):
            self.failed[path] = _CHANGED
        elif entry.kind == "folder":
            make_folder(target)
            self._modes[path] = entry.mode
        else:
            if now is not None and now.kind == "folder" and not take_away(target):
                raise OSError(errno.ENOTEMPTY, _FILLED, str(target))
            refuses = self._store.guarded.refuses(self._root, beside)
            self.kept_back |= dict.fromkeys(put_back(beside / path, target, refuses))
            if entry.kind == "file" and entry.mode & _LENT:
                self.failed[path] = (
                    f"it is written without the rights that it lends (its mode was {entry.mode:o})"
                )

    def _expected(self, path: str) -> Entry | None:
        """What must be at a path for it to be written: what was saved, or nothing where that made way."""
        above = map(str, PurePosixPath(path).parents)
        return None if path in self.aside or not self.aside.keys().isdisjoint(above) else self._now.get(path)


def _is_as(target: Path, saved: Entry | None) -> bool:
    """Whether what is at a place is what was saved of it; OSError where that cannot be told."""
    try:
        with held(open_path(target.parent, FOLDER)) as folder:
            info = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
            if saved is None or saved.kind == "folder":
                return saved is not None and stat.S_ISDIR(info.st_mode)
            if saved.kind == "link":
                is_link = stat.S_ISLNK(info.st_mode)
                return is_link and os.fsencode(os.readlink(target.name, dir_fd=folder)) == saved.content
            return saved.kind == "file" and stat.S_ISREG(info.st_mode) and _content(target) == saved.content
    except (FileNotFoundError, NotADirectoryError):
        return saved is None


def _content(target: Path) -> bytes:
    with os.fdopen(open_path(target, READ_FILE), "rb") as file:
        return digest_of(file.read())
