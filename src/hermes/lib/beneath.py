"""Open files and folders by descriptor and follow no link, so that what was decided is what is opened.

A path that is checked and then opened by its name may lead elsewhere by then: whoever can rename something in
the workspace can put a link in the place of a folder. Linux refuses links on the whole way in one call; where
that call is missing or forbidden, the path is walked folder by folder.
"""

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
"""Flags for a folder that things are opened in; it need not be readable."""

READ_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
"""Flags for a folder that is listed."""

READ_FILE: Final = os.O_RDONLY | os.O_NONBLOCK
"""Flags for a file that is read; a pipe without a writer does not block."""

_OPENAT2: Final = 437
_NO_SYMLINKS_AND_BENEATH: Final = 0x04 | 0x08
_WALK_INSTEAD: Final = (errno.ENOSYS, errno.EPERM, errno.EINTR)  # EPERM is how containers forbid a call


def open_path(path: Path, flags: int) -> int:
    """A descriptor of an absolute path; OSError as `os.open` has it, ELOOP where a part of it is a link."""
    try:
        with held(os.open("/", FOLDER)) as top:
            return open_beneath(top, str(path)[1:] or ".", flags)
    except OSError as error:
        error.filename = str(path)
        raise


def open_beneath(folder: int, path: str, flags: int) -> int:
    """A descriptor of a relative path below an open folder; OSError as `os.open` has it, ELOOP where a part
    of it is a link, EXDEV where it goes up.
    """
    _refuse_odd(path)
    if sys.platform == "linux":
        try:
            return _openat2(folder, path, flags)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _link_at(path) from None
            if error.errno not in _WALK_INSTEAD:
                raise
    return walk_beneath(folder, path, flags)


def walk_beneath(folder: int, path: str, flags: int) -> int:
    """As `open_beneath`, one part of the path after the other, for systems without a call for it."""
    _refuse_odd(path)
    *above, name = path.split("/")
    at = os.dup(folder)
    try:
        for part in above:
            inner = _step(at, part, FOLDER)
            os.close(at)
            at = inner
        return _step(at, name, flags)
    finally:
        os.close(at)


def make_folders(path: Path) -> int:
    """A descriptor of a folder for opening things in it; it and those above it are made where missing."""
    try:
        return open_path(path, FOLDER)
    except FileNotFoundError:
        with held(make_folders(path.parent)) as above:
            with suppress(FileExistsError):
                os.mkdir(path.name, dir_fd=above)
            return open_beneath(above, path.name, FOLDER)


def stat_entry(folder: int, name: str) -> os.stat_result:
    """What is in an open folder under a name; OSError (ELOOP) for a link."""
    info = os.stat(name or ".", dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode):
        raise _link_at(name)
    return info


def change_mode(folder: int, mode: int) -> None:
    """Give an open folder a mode, also where its descriptor only names it."""
    by_name = hasattr(os, "O_PATH")
    os.chmod(f"/proc/self/fd/{folder}" if by_name else folder, mode)  # noqa: PTH101


@contextmanager
def held(descriptor: int) -> Iterator[int]:
    """The descriptor, closed at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_odd(path: str) -> None:
    if "\0" in path:  # the kernel would take what is before it
        raise ValueError("a path cannot contain a NUL character")
    if ".." in path.split("/"):
        raise OSError(errno.EXDEV, "the path goes up, out of its folder", path)


def _openat2(folder: int, path: str, flags: int) -> int:
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, _NO_SYMLINKS_AND_BENEATH)
    found = _kernel().syscall(_OPENAT2, folder, os.fsencode(path), how, ctypes.c_size_t(len(how)))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return int(found)


def _step(at: int, name: str, flags: int) -> int:
    try:
        found = os.open(name, flags | os.O_NOFOLLOW, dir_fd=at)
    except OSError:
        stat_entry(at, name)  # systems differ in what they say of a link
        raise
    if stat.S_ISLNK(os.fstat(found).st_mode):  # O_PATH opens the link itself
        os.close(found)
        raise _link_at(name)
    return found


def _link_at(path: str) -> OSError:
    return OSError(
        errno.ELOOP,
        "a link has come in the way since this was decided, and it was not followed; try it again",
        path,
    )


@cache
def _kernel() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
