"""File operations on this machine: read, write in one step, delete, stat, list."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from hermes.types.workspace import FileStat

LARGEST_READ: Final = 100_000_000
"""More bytes than this are not read into memory."""


def read_bytes(path: Path) -> bytes:
    """A regular file's bytes; devices, pipes and huge files are refused with a PermissionError or OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer must not block
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(f"{path} is a folder")
        if not stat.S_ISREG(info.st_mode):
            raise PermissionError(f"{path} is not a regular file")
        if info.st_size > LARGEST_READ:
            raise OSError(f"{path} has {info.st_size} bytes, more than {LARGEST_READ}")
        return file.read(LARGEST_READ)


def write_bytes(path: Path, data: bytes) -> FileStat:
    """Write a file through a neighbour that replaces it, so that a reader sees the old or the new; an
    existing mode is kept.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    mode = _mode_for(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return _stat(path, path.stat())


def _mode_for(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()


def _umask() -> int:
    """The process's mask, read without changing it where the system shows it."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    return 0o022


def delete_file(path: Path) -> None:
    """Delete one file or link; folders are refused."""
    path.unlink()


def stat_path(path: Path) -> FileStat | None:
    """What is at the path, links followed, or None."""
    try:
        return _stat(path, path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def list_folder(path: Path) -> list[FileStat]:
    """The entries of a folder, by name; a dangling link counts as "other"."""
    found = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            try:
                info = entry.stat()
            except OSError:
                info = entry.stat(follow_symlinks=False)
            found.append(_stat(Path(entry.path), info))
    return found


def _stat(path: Path, info: os.stat_result) -> FileStat:
    return FileStat(path=str(path), kind=_kind(info.st_mode), size=info.st_size, mtime=info.st_mtime)


def _kind(mode: int) -> Literal["file", "directory", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"
