"""Find the hard links of sockets: each connects to the same server."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from hermes.lib.sock_diag import file_of

_MOST: Final = 20_000
_MOST_KNOWN: Final = 1_000


class LinkedSockets:
    """The links that were looked for; again when the number of them has changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[str, ...]] = {}

    def others(self, path: str) -> list[str]:
        """The other names of a socket."""
        try:
            found = os.lstat(path)
        except OSError:
            return []
        if found.st_nlink < 2:  # a name of its own
            return []
        key = (found.st_dev, found.st_ino, found.st_nlink, found.st_ctime_ns)
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = tuple(links_near(os.path.dirname(path), found))  # noqa: PTH120  # words
        return [name for name in self._known[key] if file_of(name) == found.st_ino]


def links_near(folder: str, found: os.stat_result) -> Iterator[str]:
    """The names of a file in a folder and below it, then in those above it, on the same device; no more than
    20,000 entries are looked at.
    """
    left, walked = _MOST, ""
    while left > 0 and _device(folder) == found.st_dev:
        waiting = [folder]
        while waiting and left > 0:
            for entry in _entries(waiting.pop()):
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.path != walked and _device(entry.path) == found.st_dev:
                        waiting.append(entry.path)
                elif entry.inode() == found.st_ino:
                    yield entry.path
        walked, folder = folder, os.path.dirname(folder)  # noqa: PTH120  # words
        if walked == folder:
            return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []


def _device(path: str) -> int:
    with suppress(OSError):
        return os.lstat(path).st_dev
    return -1
