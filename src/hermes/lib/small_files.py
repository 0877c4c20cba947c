"""Files that are read whole: settings, keys, records."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

_READING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
SMALL: Final = 16_000_000
"""Bytes that such a file has at most."""


class OddFile(OSError):
    """What is no file that can be read whole: a pipe, a device, or too much of it."""


def read_small(path: Path, most: int = SMALL) -> bytes:
    """The bytes of a file; OddFile for a pipe and the like, which might never end, and for more than `most`
    bytes. The null device is an empty file.
    """
    return read_open(os.open(path, _READING), path, most)


def read_resolved(path: Path, most: int = SMALL) -> bytes:
    """The same for a path whose links were followed before: OSError where it is one by now."""
    return read_open(os.open(path, _READING | os.O_NOFOLLOW), path, most)


def read_open(descriptor: int, path: Path, most: int = SMALL) -> bytes:
    """The same for an open file, which is closed; `path` is what it is called in an error."""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not (stat.S_ISREG(found.st_mode) or os.path.samestat(found, os.stat(os.devnull))):  # noqa: PTH116
            raise OddFile(errno.EINVAL, "it is no regular file", str(path))
        data = b"" if found.st_size > most else file.read(most + 1)
    if max(found.st_size, len(data)) > most:
        raise OddFile(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data
