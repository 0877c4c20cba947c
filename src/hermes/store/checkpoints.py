"""Checkpoints: what a command could lose, and what a workspace held before a turn changed it, saved first so
that it can be brought back.
"""

import errno
import os
import posixpath
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.lib.beneath import FOLDER, held, open_path
from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.lib.trees import Room, TooLarge, copy_aside, measure, put_back
from hermes.lib.visible import visible
from hermes.store.guarded import Guarded
from hermes.store.snapshot import SnapshotLimits
from hermes.store.snapshots import Snapshot, SnapshotStore
from hermes.types.error import StoreError

_ABOUT: Final = "checkpoint.json"
_HALF: Final = ".half"
_REMOVED: Final = "removed.json"
_MOST_ENTRIES: Final = 50_000
_MB: Final = 1024 * 1024

Time = Annotated[float, Meta(ge=0, lt=253_402_300_800)]
"""Epoch seconds before the year 10,000, which a calendar can show."""

TreeName = Annotated[str, Meta(pattern="^(?:[0-9a-f]{40})?$")]
"""The digest of a tree, or "" for none."""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """What was saved: the absolute `paths` in a `workspace`, when (epoch seconds), before which command, and
    in which folder and session that was to run. `size` is in bytes. `restores` is the id of the checkpoint
    that was about to be brought back, where that is why this one was made.

    One of a turn has all of the workspace: `tree` is the digest of its snapshot, `after` of the one at the
    end of the turn ("" where that was cut off), `message` the id of what the user said, `command` its
    beginning; it is `between` turns where it has what children changed after that one. `rules` is the tree
    whose ignore files say what both leave out, "" for `tree` itself.
    """

    id: str
    at: Time
    command: str
    cwd: str
    session: str
    workspace: str
    paths: tuple[str, ...]
    size: int = 0
    restores: str = ""
    message: str = ""
    tree: TreeName = ""
    after: TreeName = ""
    between: bool = False
    rules: TreeName = ""

    def is_about(self, folder: str) -> bool:
        """Whether a folder is in its workspace; the path is absolute."""
        return Path(folder).is_relative_to(self.workspace)


class CheckpointLimits(Struct, frozen=True, kw_only=True):
    """How large one checkpoint, a file of a snapshot, and all of them may be, in bytes, how many snapshots
    there are, and how long they are kept, in seconds.
    """

    one: int = 256 * _MB
    file: int = 10 * _MB
    all: int = 1024 * _MB
    turns: int = 200
    age: float = 7 * 86_400.0


class Restored(Struct, frozen=True):
    """What was put back, and `kept_back`: the paths of files that would run something, which were not."""

    paths: tuple[str, ...]
    kept_back: tuple[str, ...] = ()


class CheckpointStore:
    """The checkpoints of a home, a folder each. One is there whole or not at all, whenever a process dies."""

    def __init__(self, folder: Path, limits: CheckpointLimits, guarded: Guarded = Guarded()) -> None:  # noqa: B008  # a value
        self._folder = Path(os.path.realpath(folder))
        self._limits, self.guarded = limits, guarded
        self.snapshots = SnapshotStore(
            self._folder / "snapshots",
            SnapshotLimits(file=limits.file, all=limits.one, entries=_MOST_ENTRIES),
            self._hides,
        )

    def save(
        self, about: Checkpoint, *, disposable: Callable[[str], bool], keep: str = ""
    ) -> Checkpoint | None:
        """Save the paths of a checkpoint, those that are there; None where they are too large, cannot be
        read, or lie behind a link or outside of the workspace.

        Folders that are `disposable`, by path, are left out where it would be too large with them. Older
        checkpoints make room, but for the one to `keep`.
        """
        with suppress(TooLarge, OSError, StoreError):
            return self._save(about, disposable, keep)
        return None

    def save_tree(self, about: Checkpoint) -> Checkpoint:
        """Save all of a workspace but what is rebuilt; TooLarge and OSError where it cannot be."""
        with self.snapshots.used():
            return self._noted(about, self.snapshots.take(about.workspace))

    def save_since(self, about: Checkpoint, start: Checkpoint) -> Checkpoint:
        """Save a workspace by the rules that held for another checkpoint of it, and of one that has become
        too large what was there then; OSError and StoreError where it cannot be.
        """
        with self.snapshots.used():
            return self._noted(replace(about, rules=start.rules or start.tree), self.now(start))

    def now(self, start: Checkpoint) -> Snapshot:
        """What the workspace of a checkpoint holds now, by the rules that held for it; to be called while
        `snapshots` are used.
        """
        return self.snapshots.take_since(start.workspace, bytes.fromhex(start.rules or start.tree))

    def end_tree(self, begun: Checkpoint, now: float) -> Checkpoint:
        """Note what the workspace holds at the end of what a checkpoint was made for."""
        with self.snapshots.used():
            taken = self.now(begun)
            done = replace(begun, after=taken.digest.hex(), size=begun.size + taken.size)
            if (self._folder / begun.id).is_dir():
                write_atomic(self._folder / begun.id / _ABOUT, msgspec.json.encode(done))
        self.prune(now, begun.id)
        return done

    def _noted(self, about: Checkpoint, taken: Snapshot) -> Checkpoint:
        """Write a checkpoint with its tree down, whole or not at all."""
        done = replace(about, tree=taken.digest.hex(), size=taken.size)
        half, whole = self._folder / f"{about.id}{_HALF}", self._folder / about.id
        try:
            write_atomic(half / _ABOUT, msgspec.json.encode(done))
            half.rename(whole)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        return done

    def beside(self, name: str) -> Path:
        """A folder for files on their way into a workspace; it is removed with what a process leaves."""
        return self._folder / f"{name}{_HALF}"

    def fits(self, paths: Sequence[str], workspace: str, *, disposable: Callable[[str], bool]) -> bool:
        """Whether these paths of a workspace could be saved as they are now."""
        with suppress(TooLarge, OSError):
            return bool(self._room(_there(paths, workspace), disposable))
        return False

    def newest(self) -> list[Checkpoint]:
        """All of them, the newest first; what is damaged is left out."""
        return sorted(self._all(), key=lambda one: (one.at, one.id), reverse=True)

    def removed_until(self) -> float:
        """When the newest of the turns' checkpoints that made room was made; 0 where none has."""
        try:
            return msgspec.json.decode(read_small(self._folder / _REMOVED), type=float)
        except (OSError, ValueError):
            return 0.0

    def damaged(self) -> list[str]:
        """The names of those that cannot be read."""
        whole = {one.id for one in self._all()}
        names = {file.parent.name for file in self._folder.glob(f"*/{_ABOUT}")} - whole
        return sorted(name for name in names if not name.endswith(_HALF))

    def find(self, name: str, folder: str) -> Checkpoint:
        """The one whose id begins so; `latest` is the newest of a workspace with this folder that no restore
        has made. StoreError where that is none, or several.
        """
        held = self.newest()
        if name == "latest":
            for one in held:
                if one.is_about(folder) and not one.restores:
                    return one
            raise StoreError(
                f"Nothing is saved of {folder}; hermes checkpoints list shows what is of others."
            )
        found = [one for one in held if one.id.startswith(name)]
        if len(found) != 1:
            begins = "Several checkpoints begin" if found else "There is no checkpoint that begins"
            raise StoreError(f"{begins} with {name}; hermes checkpoints list shows them all.")
        return found[0]

    def files(self, checkpoint: Checkpoint) -> Iterator[str]:
        """The paths of the files that it holds."""
        if checkpoint.tree:
            tree = self.snapshots.tree(bytes.fromhex(checkpoint.tree))
            top = checkpoint.workspace.rstrip("/")
            yield from (f"{top}/{path}" for path in sorted(tree) if tree[path].kind in {"file", "link"})
            return
        for number, path in enumerate(checkpoint.paths):
            kept = self._folder / checkpoint.id / str(number)
            inner = kept.rglob("*") if kept.is_dir() and not kept.is_symlink() else [kept]
            for one in sorted(inner):
                if one.is_symlink() or not one.is_dir():
                    yield str(Path(path, one.relative_to(kept))) if one != kept else path

    def left_out(self, checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
        """The paths in the workspace that a snapshot has not saved, each with why."""
        if checkpoint.tree:
            for path, one in sorted(self.snapshots.tree(bytes.fromhex(checkpoint.tree)).items()):
                if one.kind == "out":
                    yield path, one.content.decode()

    def content(self, checkpoint: Checkpoint, path: str) -> bytes:
        """What was saved of the file at an absolute path; StoreError where that is none, or is damaged."""
        if not checkpoint.tree:
            kept = self.place(checkpoint, path)
            if kept.is_symlink() or not kept.is_file():
                raise StoreError(f"{visible(path)} is no file in this checkpoint.")
            return kept.read_bytes()
        name = posixpath.relpath(path, checkpoint.workspace)
        entry = self.snapshots.tree(bytes.fromhex(checkpoint.tree)).get(name)
        if entry is None or entry.kind == "out":
            raise StoreError(f"{visible(path)} was not saved in this checkpoint.")
        if entry.kind != "file":
            raise StoreError(f"{visible(path)} is no file in this checkpoint.")
        return self.snapshots.bytes_of(entry)

    def restore(self, checkpoint: Checkpoint, paths: Sequence[str] = ()) -> Restored:
        """Put back what was saved at these paths, or all of it. What has come since stays, and so does what
        git or a login would run.

        StoreError where a place cannot be written or lies behind a link, or a path was not saved.
        """
        chosen = {path: self.place(checkpoint, path) for path in paths or checkpoint.paths}
        kept_back: list[str] = []
        try:
            for path, source in chosen.items():
                target = _inside(path, checkpoint.workspace)
                kept_back += put_back(source, target, self.guarded.refuses(target, source))
        except OSError as error:
            raise StoreError(f"Not all is as it was: {_why(error)}.") from error
        return Restored(tuple(chosen), tuple(kept_back))

    def place(self, checkpoint: Checkpoint, path: str) -> Path:
        """Where what was at a path is kept; StoreError where it is not."""
        for number, top in enumerate(checkpoint.paths):
            if path == top or path.startswith(f"{top}/"):
                kept = self._folder / checkpoint.id / str(number)
                found = kept / path[len(top) :].lstrip("/") if path != top else kept
                if os.path.lexists(found):
                    return found
        raise StoreError(f"{visible(path)} was not saved in this checkpoint.")

    def bring_back(
        self, checkpoint: Checkpoint, paths: Sequence[str] = (), *, now: float, token: str
    ) -> Restored:
        """As `restore`, with what is there now in a checkpoint of its own, whose id is `token`; StoreError
        where that cannot be saved.
        """
        before = replace(
            checkpoint,
            id=token,
            at=now,
            command=f"hermes checkpoints restore {checkpoint.id}",
            restores=checkpoint.id,
        )
        try:
            self._save(before, lambda _path: False, keep=checkpoint.id)
        except TooLarge as error:
            raise StoreError("What is there now is too large to be saved first; move it away.") from error
        except OSError as error:
            raise StoreError(f"What is there now cannot be saved first: {_why(error)}.") from error
        return self.restore(checkpoint, paths)

    def prune(self, now: float, keep: str = "") -> None:
        """Remove those that are too old, the oldest of too many, and what a process that died has left, but
        not the one to `keep`.
        """
        left, turns = self._limits.all - self._limits.one, self._limits.turns
        kept, gone = list[Checkpoint](), list[Checkpoint]()
        for one in self.newest():
            left, turns = left - one.size, turns - bool(one.tree)
            old = one.at < now - self._limits.age or (one.tree and turns < 0)
            (gone if one.id != keep and (left < 0 or old) else kept).append(one)
        if turned := [one.at for one in gone if one.message]:
            until = max(*turned, self.removed_until())
            write_atomic(self._folder / _REMOVED, msgspec.json.encode(until))
        for one in gone:
            self._remove(one.id)
        if any(one.tree for one in gone):
            self._sweep([one for one in kept if one.tree])
        self._forget(self._folder.glob(f"*{_HALF}"), now - 3_600)
        self._forget((self._folder / name for name in self.damaged()), now - self._limits.age)

    def _forget(self, folders: Iterable[Path], before: float) -> None:
        """Remove folders that nobody has written to since then."""
        for one in folders:
            with suppress(FileNotFoundError):  # another process has finished it
                if one.stat().st_mtime < before:
                    shutil.rmtree(one, ignore_errors=True)

    def _sweep(self, kept: Sequence[Checkpoint]) -> None:
        """Throw away what no snapshot has; what removed ones shared counts for the oldest that is left."""
        trees = (bytes.fromhex(tree) for one in kept for tree in (one.tree, one.after, one.rules) if tree)
        left = self.snapshots.sweep(trees)
        more = (left or 0) - sum(one.size for one in kept)
        if kept and more > 0:
            oldest = replace(kept[-1], size=kept[-1].size + more)
            write_atomic(self._folder / oldest.id / _ABOUT, msgspec.json.encode(oldest))

    def _save(self, about: Checkpoint, disposable: Callable[[str], bool], keep: str) -> Checkpoint:
        self.prune(about.at, keep)
        about = replace(about, paths=tuple(map(str, _there(about.paths, about.workspace))))
        return self._saved(about, self._room(list(map(Path, about.paths)), disposable))

    def _room(self, paths: Sequence[Path], disposable: Callable[[str], bool]) -> Room:
        """Room that is enough for paths, without what is disposable if need be; TooLarge where none is."""
        with suppress(TooLarge):
            return self._measured(paths, lambda _path: False)
        return self._measured(paths, disposable)

    def _measured(self, paths: Sequence[Path], skips: Callable[[str], bool]) -> Room:
        room = Room(self._limits.one, _MOST_ENTRIES, skips, self._hides)
        for path in paths:
            measure(path, room)
        return Room(self._limits.one, _MOST_ENTRIES, skips, self._hides)

    def _hides(self, path: str) -> bool:
        """A workspace may hold our home, and no command gets there."""
        return path == str(self._folder.parent) or self.guarded.hidden(path)

    def _saved(self, about: Checkpoint, room: Room) -> Checkpoint:
        half, whole = self._folder / f"{about.id}{_HALF}", self._folder / about.id
        before = room.size
        try:
            for number, path in enumerate(about.paths):
                copy_aside(Path(path), half / str(number), room)
            done = replace(about, size=before - room.size)
            if about.paths:
                write_atomic(half / _ABOUT, msgspec.json.encode(done))
                half.rename(whole)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        return done

    def _all(self) -> Iterator[Checkpoint]:
        for file in self._folder.glob(f"*/{_ABOUT}"):
            if not file.parent.name.endswith(_HALF):
                with suppress(OSError, ValueError):
                    found = msgspec.json.decode(read_small(file), type=Checkpoint)
                    if found.id == file.parent.name:
                        yield found

    def _remove(self, name: str) -> None:
        half = self._folder / f"{name}{_HALF}"
        with suppress(OSError):
            (self._folder / name).rename(half)  # a part of one must not look like one
        shutil.rmtree(half, ignore_errors=True)


def _there(paths: Sequence[str], workspace: str) -> list[Path]:
    """The paths that are there; OSError (ELOOP, EXDEV) where one lies behind a link or outside."""
    inside = [_inside(path, workspace) for path in paths]
    return [path for path in inside if _is_there(path)]


def _is_there(path: Path) -> bool:
    try:
        with held(open_path(path.parent, FOLDER)) as folder:
            os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _inside(path: str, workspace: str) -> Path:
    """A path that is in the workspace by its name; OSError (EXDEV) for another one."""
    plain = posixpath.normpath(path)
    if plain != workspace and not plain.startswith(f"{workspace.rstrip('/')}/"):
        raise OSError(errno.EXDEV, f"it is not in the workspace {workspace}", path)
    return Path(plain)


def _why(error: OSError) -> str:
    """What was in the way, with its name."""
    path = Path(error.filename or "")
    links = [one for one in (*reversed(path.parents), path) if one.is_symlink()]
    if error.errno == errno.ELOOP and links:
        return f"{visible(str(links[0]))} is a link, and none is followed; move it away"
    return f"{visible(str(path))}: {error.strerror}"
