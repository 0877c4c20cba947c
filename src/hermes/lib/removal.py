"""Remove folders by descriptors: no link is followed, and they may lie as deep as they like."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.beneath import FOLDER, change_mode, held, open_path

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class _Level(Struct, frozen=True):
    """A folder on the way down: its name, what it is, and the folders in it that are still there."""

    name: str
    identity: tuple[int, int]
    folders: list[str]


def remove_folder(path: Path) -> None:
    """Remove what is at a path with all in it, as `remove_tree`; nothing where nothing is."""
    with suppress(FileNotFoundError), held(open_path(path.parent.resolve(), FOLDER)) as above:
        remove_tree(above, path.name)


def remove_older(folder: Path, seconds: float) -> None:
    """Remove what in a folder was last changed so long ago or longer, as what somebody left who was killed;
    what cannot be removed stays.
    """
    for one in folder.iterdir():
        with suppress(OSError):
            if time.time() - one.stat().st_mtime > seconds:  # noqa: TID251  # the file system's own time
                remove_folder(one)


def remove_tree(folder: int, name: str) -> None:
    """Remove what lies in an open folder under a name, with all in it, also what is closed to us. OSError
    where something stays: the first that could not be removed; or a folder was moved meanwhile.
    """
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    faults: list[OSError] = []
    at = _entered(folder, name)
    try:
        way = [_Level(name, _identity(at), _emptied(at, faults))]
        while way:  # one descriptor at a time: a process may have a thousand, and folders lie deeper
            if inner := way[-1].folders:
                with _noted(faults):
                    at = _instead(at, _entered(at, name := inner.pop()))
                    way.append(_Level(name, _identity(at), _emptied(at, faults)))
                continue
            name = way.pop().name
            at = _instead(at, _above(at, way[-1].identity if way else _identity(folder)))
            with _noted(faults):
                os.rmdir(name, dir_fd=at)
    finally:
        os.close(at)
    if faults:
        raise faults[0]


def _emptied(folder: int, faults: list[OSError]) -> list[str]:
    """Remove all but the folders of an open folder, whose names are given."""
    with os.scandir(folder) as found:
        entries = list(found)
    for one in entries:
        if not one.is_dir(follow_symlinks=False):
            with _noted(faults):
                os.unlink(one.name, dir_fd=folder)
    return [one.name for one in entries if one.is_dir(follow_symlinks=False)]


@contextmanager
def _noted(faults: list[OSError]) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:  # somebody was faster
        return
    except OSError as error:
        faults.append(error)


def _entered(folder: int, name: str) -> int:
    """A descriptor of a folder that its owner can empty, whatever its mode was."""
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        with held(os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder)) as closed:
            change_mode(closed, 0o700)
        inner = os.open(name, _FOLDER, dir_fd=folder)
    if os.fstat(inner).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(PermissionError):  # it is another's, who may let us all the same
            os.fchmod(inner, 0o700)
    return inner


def _above(folder: int, expected: tuple[int, int]) -> int:
    above = os.open("..", FOLDER, dir_fd=folder)
    if _identity(above) != expected:
        os.close(above)
        raise OSError(errno.EBUSY, "a folder was moved while it was removed")
    return above


def _identity(folder: int) -> tuple[int, int]:
    info = os.fstat(folder)
    return info.st_dev, info.st_ino


def _instead(old: int, new: int) -> int:
    os.close(old)
    return new
