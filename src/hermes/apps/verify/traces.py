"""What a call may leave behind: files that differ, threads and programs that go on."""

import stat
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psutil

Seen = dict[str, tuple[object, ...]]
_OURS: Final = ("hermes", "AnyIO worker", "MainThread")
"""How the names of threads begin that belong to no tool."""


def files_below(folders: Iterable[Path]) -> Seen:
    """What can be told of each file: kind, mode, size, the time of its last change and its content."""
    return {str(path): _told(path) for folder in folders for path in _walk(folder)}


def differences(before: Seen, after: Seen) -> list[str]:
    """The paths that are new, gone or changed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def threads() -> dict[int, str]:
    """The threads of this program that are not our own, with their names."""
    found = (one for one in threading.enumerate() if not one.name.startswith(_OURS))
    return {one.ident or 0: one.name for one in found}


def programs() -> dict[int, str]:
    """The programs that this one has started, those that they started too, with their names."""
    running = (one for one in psutil.Process().children(recursive=True) if one.is_running())
    found = {}
    for one in running:
        try:
            if one.status() != psutil.STATUS_ZOMBIE:
                found[one.pid] = one.name()
        except psutil.Error:  # it has ended meanwhile
            continue
    return found


def _walk(folder: Path) -> Iterable[Path]:
    if folder.is_dir() and not folder.is_symlink():
        for path in sorted(folder.iterdir()):
            yield path
            yield from _walk(path)


def _told(path: Path) -> tuple[object, ...]:
    info = path.lstat()
    if stat.S_ISDIR(info.st_mode):
        return "folder", info.st_mode
    content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
    return "file", info.st_mode, info.st_size, info.st_mtime_ns, content
