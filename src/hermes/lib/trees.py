"""Copy files and folders aside and put them back by descriptors: no link is followed, on either side."""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.beneath import FOLDER, change_mode, held, make_folders, open_path
from hermes.lib.removal import remove_tree

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_OBJECT: Final = re.compile(r"/objects/(?:[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.\w+)$")
_DEEPEST: Final = 100  # two descriptors for each folder on the way
_SMALL: Final = 1_000_000
_LONGEST: Final = 255
HALF_WRITTEN: Final = r"\.hermes-[0-9a-f]{12}"
"""What a file is called until all of it is there; a process that was killed leaves one."""
MOVED_ASIDE: Final = r".*\.aside-[0-9a-f]{8}"
"""What is called so once made way for something else."""
_CLONE: Final = 0x40049409  # FICLONE of linux/fs.h


class TooLarge(Exception):  # what there is, not what went wrong
    """There is more to copy than was allowed."""


class Room(Struct):
    """What a copy may still take, in bytes and entries. By path, `hides` says what is left out, whatever it
    is, and `skips` which folders are.
    """

    size: int
    entries: int
    skips: Callable[[str], bool] = lambda _path: False
    hides: Callable[[str], bool] = lambda _path: False

    def take(self, size: int) -> None:
        """Count one entry; TooLarge when there is no room for it."""
        self.size -= size
        self.entries -= 1
        if self.size < 0 or self.entries < 0:
            raise TooLarge

    def leaves_out(self, path: str, info: os.stat_result) -> bool:
        """Whether what is at a path is not counted and not copied."""
        return self.hides(path) or (stat.S_ISDIR(info.st_mode) and self.skips(path))


def measure(source: Path, room: Room) -> None:
    """Take what a copy of `source` needs out of the room; TooLarge when there is not enough, or folders lie
    in each other too deep.
    """
    with held(open_path(source.parent, FOLDER)) as here:
        _measure((here, source.name), str(source), room, _DEEPEST)


def copy_aside(source: Path, target: Path, room: Room) -> None:
    """Copy what is at `source` to `target`, where nothing is; TooLarge and OSError leave a part of it. ELOOP
    is for a link on the way to the source.

    Blocks of files are shared where the file system can do that; objects of git, which git never changes, are
    linked. Sockets, pipes and devices are left out.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with held(open_path(source.parent, FOLDER)) as here, _opened(target.parent) as there:
        _copy((here, source.name), (there, target.name), str(source), room, _DEEPEST)


def put_back(source: Path, target: Path, refuses: Callable[[str], bool]) -> list[str]:
    """Make what is at `target` as it is at `source`; the paths of files that differ and were left as they
    are, because `refuses` is true of their path. What is there besides stays.

    What is of another kind than it was makes way. OSError where a place cannot be written, ELOOP where a part
    of the way to it is a link.
    """
    left: list[str] = []
    with held(open_path(source.parent, FOLDER)) as here, held(make_folders(target.parent)) as there:
        _put((here, source.name), (there, target.name), str(target), refuses, left)
    return left


def take_away(target: Path) -> bool:
    """Remove a file, a link, or a folder that is empty; whether it is gone. OSError where that may not be,
    ELOOP where a part of the way to it is a link.
    """
    try:
        with held(open_path(target.parent, FOLDER)) as folder:
            if stat.S_ISDIR(_stat((folder, target.name)).st_mode):
                os.rmdir(target.name, dir_fd=folder)
            else:
                os.unlink(target.name, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            raise
    return True


def aside_name(name: str, token: str) -> str:
    """What something is called once it has made way; names of one `token`, which is hexadecimal, belong
    together.
    """
    end = f".aside-{token[:8]}"
    return os.fsdecode(os.fsencode(name)[: _LONGEST - len(end)]) + end


def rename(target: Path, name: str) -> None:
    """Give what is at a place another name in its folder, one that is free. OSError where it cannot be."""
    with held(open_path(target.parent, FOLDER)) as folder:
        if _is_there((folder, name)):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(target.name, name, src_dir_fd=folder, dst_dir_fd=folder)


def make_folder(target: Path) -> None:
    """Make a folder, unless there is one; a file or link in its place goes. ELOOP as `put_back`."""
    with held(make_folders(target.parent)) as folder:
        _make_way((folder, target.name), keep=stat.S_ISDIR)
        with suppress(FileExistsError):
            os.mkdir(target.name, 0o700, dir_fd=folder)


def set_mode(target: Path, mode: int) -> None:
    """Give a folder a mode, also where it cannot be read; OSError where it did not take it, ELOOP as
    `put_back`.
    """
    with held(open_path(target, FOLDER)) as folder:
        change_mode(folder, mode)
        if stat.S_IMODE(os.fstat(folder).st_mode) != mode:
            raise OSError(errno.EPERM, f"it did not take the mode {mode:o}", str(target))


_At = tuple[int, str]
"""A name in an open folder."""


def _measure(source: _At, path: str, room: Room, depth: int) -> None:
    info = _stat(source)
    if room.leaves_out(path, info):
        return
    if not stat.S_ISDIR(info.st_mode):
        room.take(info.st_size)
        return
    room.take(0)
    with _opened(source[1], source[0]) as here:
        for name in _names(here, depth):
            _measure((here, name), f"{path}/{name}", room, depth - 1)


def _copy(source: _At, target: _At, path: str, room: Room, depth: int) -> None:
    info = _stat(source)
    if room.leaves_out(path, info):
        return
    if stat.S_ISDIR(info.st_mode):
        room.take(0)
        with _both(source, target) as (here, there):
            for name in _names(here, depth):
                _copy((here, name), (there, name), f"{path}/{name}", room, depth - 1)
        return
    room.take(info.st_size)
    if not (_is_object(path, info) and _is_linked(source, target)):
        _copy_one(source, target, info)


def _put(source: _At, target: _At, path: str, refuses: Callable[[str], bool], left: list[str]) -> None:
    info = _stat(source)
    if stat.S_ISDIR(info.st_mode):
        _make_way(target, keep=stat.S_ISDIR)
        with _both(source, target) as (here, there):
            for name in _names(here, _DEEPEST):
                _put((here, name), (there, name), f"{path}/{name}", refuses, left)
    elif not refuses(path):
        _make_way(target, keep=lambda mode: not stat.S_ISDIR(mode))
        beside = (target[0], f".hermes-{os.urandom(6).hex()}")  # the name itself may be as long as one may be
        try:
            _copy_one(source, beside, info)
            os.rename(beside[1], target[1], src_dir_fd=beside[0], dst_dir_fd=target[0])
        except BaseException:
            with suppress(OSError):  # nothing of it is there, or it cannot be removed either
                os.unlink(beside[1], dir_fd=beside[0])
            raise
    elif (saved := _read(source)) is None or saved != _read(target):
        left.append(path)


def _is_object(path: str, info: os.stat_result) -> bool:
    """Whether a file is named and guarded as git does with what it never changes."""
    return stat.S_ISREG(info.st_mode) and not info.st_mode & 0o222 and bool(_OBJECT.search(path))


def _read(at: _At) -> bytes | None:
    """What a small regular file holds."""
    with suppress(OSError), os.fdopen(os.open(at[1], _FILE, dir_fd=at[0]), "rb") as file:
        info = os.fstat(file.fileno())
        return file.read(_SMALL) if stat.S_ISREG(info.st_mode) and info.st_size < _SMALL else None
    return None


def _copy_one(source: _At, target: _At, info: os.stat_result) -> None:
    """Copy a file or a link; nothing for what is neither."""
    (here, name), (there, new) = source, target
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(name, dir_fd=here), new, dir_fd=there)
    elif stat.S_ISREG(info.st_mode):
        with (
            os.fdopen(os.open(name, _FILE, dir_fd=here), "rb") as read,
            os.fdopen(os.open(new, _NEW, 0o600, dir_fd=there), "wb") as write,
        ):
            try:
                ioctl(write.fileno(), _CLONE, read.fileno())
            except OSError:
                shutil.copyfileobj(read, write)
            os.fchmod(write.fileno(), info.st_mode & 0o777)  # its owner may be another one now
        os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=there)


def _is_linked(source: _At, target: _At) -> bool:
    """Whether a second name for a file could be made."""
    with suppress(OSError):
        os.link(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0], follow_symlinks=False)
        return True
    return False


def _make_way(target: _At, keep: Callable[[int], bool]) -> None:
    """Take away what is at a place unless it is of the kind to keep."""
    folder, name = target
    with suppress(FileNotFoundError):
        mode = _stat(target).st_mode
        if keep(mode):
            return
        remove_tree(folder, name)


def _names(folder: int, depth: int) -> list[str]:
    """The names in an open folder; TooLarge where no folder may lie below it any more."""
    if depth < 0:
        raise TooLarge
    with os.scandir(folder) as found:
        return [one.name for one in found]


def _is_there(at: _At) -> bool:
    try:
        _stat(at)
    except FileNotFoundError:
        return False
    return True


def _stat(at: _At) -> os.stat_result:
    return os.stat(at[1], dir_fd=at[0], follow_symlinks=False)


@contextmanager
def _both(source: _At, target: _At) -> Iterator[tuple[int, int]]:
    """A folder, and the one that stands for it, made where it is not there, with its mode in the end."""
    with suppress(FileExistsError):
        os.mkdir(target[1], 0o700, dir_fd=target[0])
    with _opened(source[1], source[0]) as here, _opened(target[1], target[0]) as there:
        yield here, there
        os.fchmod(there, stat.S_IMODE(os.fstat(here).st_mode) | stat.S_IRWXU)


@contextmanager
def _opened(path: Path | str, folder: int | None = None) -> Iterator[int]:
    with ExitStack() as stack:
        descriptor = os.open(path, _FOLDER, dir_fd=folder)
        stack.callback(os.close, descriptor)
        yield descriptor
