"""Checkpoints: what a command could lose, saved before it runs, so that it can be brought back."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.trees import Room, TooLarge, copy_aside, measure, put_back
from hermes.types.error import StoreError

_ABOUT: Final = "checkpoint.json"
_HALF: Final = ".half"
_MOST_ENTRIES: Final = 50_000
_MB: Final = 1024 * 1024


class Checkpoint(Struct, frozen=True, kw_only=True):
    """What was saved: the absolute `paths`, when (epoch seconds), before which command, and in which folder
    and session that was to run. `size` is in bytes.
    """

    id: str
    at: float
    command: str
    cwd: str
    session: str
    paths: tuple[str, ...]
    size: int = 0


class Limits(Struct, frozen=True, kw_only=True):
    """How large one checkpoint and all of them may be, in bytes, and how long they are kept, in seconds."""

    one: int = 256 * _MB
    all: int = 1024 * _MB
    age: float = 7 * 86_400.0


class Checkpoints:
    """The checkpoints of a home, a folder each. One is there whole or not at all, whenever a process dies."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder, self._limits = folder, limits

    def save(
        self, about: Checkpoint, *, disposable: Callable[[str], bool], keep: str = ""
    ) -> Checkpoint | None:
        """Save the paths of a checkpoint, those that are there; None where they are too large or cannot be
        read.

        Folders that are `disposable`, by path, are left out where it would be too large with them. Older
        checkpoints make room, but for the one to `keep`.
        """
        self.prune(about.at, keep)
        about = msgspec.structs.replace(about, paths=self._there(about.paths))
        room = self._room(about.paths, disposable)
        with suppress(TooLarge, OSError):
            return self._saved(about, room) if room else None
        return None

    def fits(self, paths: Sequence[str], *, disposable: Callable[[str], bool]) -> bool:
        """Whether these paths could be saved as they are now."""
        return self._room(self._there(paths), disposable) is not None

    def newest(self) -> list[Checkpoint]:
        """All of them, the newest first; what is damaged is left out."""
        return sorted(self._all(), key=lambda one: (one.at, one.id), reverse=True)

    def find(self, name: str) -> Checkpoint:
        """The one whose id begins so, `latest` the newest; StoreError where that is none, or several."""
        held = self.newest()
        found = held[:1] if name == "latest" else [one for one in held if one.id.startswith(name)]
        if len(found) != 1:
            begins = "Several checkpoints begin" if found else "There is no checkpoint that begins"
            raise StoreError(f"{begins} with {name}.")
        return found[0]

    def files(self, checkpoint: Checkpoint) -> Iterator[str]:
        """The paths of the files that it holds."""
        for number, path in enumerate(checkpoint.paths):
            kept = self._folder / checkpoint.id / str(number)
            inner = kept.rglob("*") if kept.is_dir() and not kept.is_symlink() else [kept]
            for one in sorted(inner):
                if one.is_symlink() or not one.is_dir():
                    yield str(Path(path, one.relative_to(kept))) if one != kept else path

    def restore(self, checkpoint: Checkpoint, paths: Sequence[str] = ()) -> list[str]:
        """Put back what was saved at these paths, or all of it; which ones it were. What has come since
        stays.

        StoreError where a place cannot be written, or a path was not saved.
        """
        kept = {
            path: self._folder / checkpoint.id / str(number) for number, path in enumerate(checkpoint.paths)
        }
        chosen = {path: _within(path, kept) for path in paths} if paths else kept
        try:
            for path, source in chosen.items():
                put_back(source, Path(path))
        except OSError as error:
            raise StoreError(f"{error.filename or 'It'} cannot be brought back: {error.strerror}.") from error
        return list(chosen)

    def bring_back(
        self, checkpoint: Checkpoint, paths: Sequence[str] = (), *, now: float, token: str
    ) -> list[str]:
        """As `restore`, with what is there now in a checkpoint of its own; StoreError where that is too
        large.
        """
        before = msgspec.structs.replace(
            checkpoint, id=token, at=now, command=f"hermes checkpoints restore {checkpoint.id}"
        )
        if self.save(before, disposable=lambda _path: False, keep=checkpoint.id) is None:
            raise StoreError("What is there now is too large to be saved first; move it away.")
        return self.restore(checkpoint, paths)

    def prune(self, now: float, keep: str = "") -> None:
        """Remove those that are too old, the oldest of too many, and what a process that died has left, but
        not the one to `keep`.
        """
        left = self._limits.all - self._limits.one
        for one in self.newest():
            left -= one.size
            if one.id != keep and (left < 0 or one.at < now - self._limits.age):
                self._remove(one.id)
        for half in self._folder.glob(f"*{_HALF}"):
            if half.stat().st_mtime < now - 3_600:
                shutil.rmtree(half, ignore_errors=True)

    def _there(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if Path(path).exists() or Path(path).is_symlink())

    def _room(self, paths: Sequence[str], disposable: Callable[[str], bool]) -> Room | None:
        """Room that is enough for paths, without what is disposable if need be; None where none is."""
        own = str(self._folder.parent)  # a workspace may hold our home, and no command gets there
        for skips in (own.__eq__, lambda path: path == own or disposable(path)):
            with suppress(TooLarge, OSError):
                room = Room(self._limits.one, _MOST_ENTRIES, skips)
                for path in paths:
                    measure(Path(path), room)
                return Room(self._limits.one, _MOST_ENTRIES, skips)
        return None

    def _saved(self, about: Checkpoint, room: Room) -> Checkpoint:
        half, whole = self._folder / f"{about.id}{_HALF}", self._folder / about.id
        before = room.size
        try:
            for number, path in enumerate(about.paths):
                copy_aside(Path(path), half / str(number), room)
            done = msgspec.structs.replace(about, size=before - room.size)
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
                with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
                    yield msgspec.json.decode(file.read_bytes(), type=Checkpoint)

    def _remove(self, name: str) -> None:
        half = self._folder / f"{name}{_HALF}"
        with suppress(OSError):
            (self._folder / name).rename(half)  # a part of one must not look like one
        shutil.rmtree(half, ignore_errors=True)


def _within(path: str, kept: dict[str, Path]) -> Path:
    """Where what was at a path is kept."""
    for top, source in kept.items():
        if path == top or path.startswith(f"{top}/"):
            found = source / path[len(top) :].lstrip("/") if path != top else source
            if found.exists() or found.is_symlink():
                return found
    raise StoreError(f"{path} was not saved in this checkpoint.")
