"""What tells the files of a skill from others."""

import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from hermes.lib.small_files import read_small
from hermes.lib.walk import walk

LARGEST: Final = 64_000_000
"""Bytes of a file that is looked at."""


def _content(path: Path) -> bytes:
    """The bytes of a file, or where a link leads; a pipe and the like have none."""
    if path.is_symlink():
        return bytes(path.readlink())
    try:
        return read_small(path, LARGEST)
    except OSError:
        return b"no file"


def digest(folder: Path) -> str:
    """A hash of the names, rights to run and contents of all files in a folder."""
    made = hashlib.sha256()
    for place, folders, names in walk(str(folder)):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            runs = bool(path.lstat().st_mode & 0o100)
            below = os.fsencode(path.relative_to(folder)).hex()
            made.update(msgspec.json.encode([below, runs, hashlib.sha256(_content(path)).hexdigest()]))
    return made.hexdigest()
