"""What tells the files of a skill from others."""

import hashlib
from pathlib import Path

import msgspec

from hermes.lib.walk import walk


def digest(folder: Path) -> str:
    """A hash of the names, rights to run and contents of all files in a folder."""
    made = hashlib.sha256()
    for place, folders, names in walk(str(folder)):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            runs = bool(path.lstat().st_mode & 0o100)
            content = bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
            below = str(path.relative_to(folder))
            made.update(msgspec.json.encode([below, runs, hashlib.sha256(content).hexdigest()]))
    return made.hexdigest()
