"""File operations on this machine by descriptor: read, write in one step, delete, stat, list.

Paths are absolute and have no links in them, as they were decided; a link that comes in the way later is
refused with an OSError (ELOOP).
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from hermes.lib.beneath import (
    FOLDER,
    READ_FILE,
    READ_FOLDER,
    held,
    make_folders,
    open_path,
    stat_entry,
)
from hermes.types.workspace import FileStat

LARGEST_READ: Final = 100_000_000
"""More bytes than this are not read into memory."""


def read_bytes(path: Path) -> bytes:
    """A regular file's bytes; devices, pipes and huge files are refused with a PermissionError or OSError."""
    with held(open_path(path, READ_FILE)) as descriptor:
        return read_open(descriptor, path, LARGEST_READ)


def read_open(descriptor: int, path: Path, largest: int) -> bytes:
    """The bytes of an open regular file, as `read_bytes`; `path` is for the words of errors."""
    info = os.fstat(descriptor)
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(f"{path} is a folder")
    if not stat.S_ISREG(info.st_mode):
        raise PermissionError(f"{path} is not a regular file")
    if info.st_size > largest:
        raise OSError(f"{path} has {info.st_size} bytes, more than {largest}")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(largest)


def write_bytes(path: Path, data: bytes) -> FileStat:
    """Write a file through a neighbour that replaces it, so that a reader sees the old or the new; an
    existing mode and owner are kept. A device, pipe or socket is refused: the file would take its place.
    """
    with _named(path), held(make_folders(path.parent)) as folder:
        before = _existing(folder, path)
        part = f".{path.name[:50]}.{secrets.token_hex(8)}.part"
        try:
            written = _write_new(folder, part, data, before)
            os.rename(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
            raise
    return _stat(path, written)


def _existing(folder: int, path: Path) -> os.stat_result | None:
    """What a write would replace."""
    try:
        info = stat_entry(folder, path.name)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(f"{path} is a folder")
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
        raise PermissionError(f"{path} is not a regular file")
    return info


def _write_new(folder: int, name: str, data: bytes, before: os.stat_result | None) -> os.stat_result:
    """A new file in an open folder, on the disk; what it gets of the file `before` is mode and owner."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(name, flags, 0o600 if before else 0o666, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        if before is not None:
            _take_over(file.fileno(), before)
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _take_over(descriptor: int, before: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # who may write a file need not be able to give it away
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def delete_file(path: Path) -> None:
    """Delete one file or link; folders are refused."""
    with _named(path), held(open_path(path.parent, FOLDER)) as folder:
        os.unlink(path.name or ".", dir_fd=folder)


def stat_path(path: Path) -> FileStat | None:
    """What is at the path, or None."""
    try:
        with _named(path), held(open_path(path.parent, FOLDER)) as folder:
            return _stat(path, stat_entry(folder, path.name))
    except (FileNotFoundError, NotADirectoryError):
        return None


def list_folder(path: Path) -> list[FileStat]:
    """The entries of a folder, by name; a dangling link counts as "other"."""
    found = []
    with held(open_path(path, READ_FOLDER)) as folder, os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            try:
                info = entry.stat()
            except OSError:
                info = entry.stat(follow_symlinks=False)
            found.append(_stat(path / entry.name, info))
    return found


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the system name the path, and not its last part or the neighbour."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename, error.filename2 = str(path), None
        raise


def _stat(path: Path, info: os.stat_result) -> FileStat:
    return FileStat(path=str(path), kind=_kind(info.st_mode), size=info.st_size, mtime=info.st_mtime)


def _kind(mode: int) -> Literal["file", "directory", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"
