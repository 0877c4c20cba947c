"""Files that are one with a secret file under another name, as a hard link makes them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

_MOST: Final = 200_000
"""Entries of folders that are looked at: a fifth of a second."""
FileNumber = tuple[int, int]
"""Device and inode."""


def linked_files(paths: Iterable[str]) -> Mapping[str, FileNumber]:
    """Those of these paths that are regular files with more names than one, with what is the same by all."""
    return {path: number for path in paths if (number := _linked(path))}


def secret_names(
    linked: Mapping[str, FileNumber], top: str, concealed: Callable[[str], bool]
) -> Mapping[str, str]:
    """For each of these paths that is one file with a concealed one below `top`, the name of that."""
    numbers = {inode for _, inode in linked.values()}
    hidden: dict[FileNumber, str] = {}
    for entry in _entries(top):
        if entry.inode() in numbers and concealed(entry.path):
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                hidden[found.st_dev, found.st_ino] = entry.path
    return {path: hidden[file] for path, file in linked.items() if file in hidden}


def _linked(path: str) -> FileNumber | None:
    """What tells a regular file with more names than one from all others."""
    with suppress(OSError, ValueError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            return found.st_dev, found.st_ino
    return None


def _entries(top: str) -> Iterator[os.DirEntry[str]]:
    """All that lies below a folder, near things first."""
    folders, seen = [top], 0
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                yield entry
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
        if seen > _MOST:
            return
