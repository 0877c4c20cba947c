"""The branches and objects of a repository that anybody could have written, by descriptors: git is not asked,
no link is followed, and only regular files are read.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.beneath import READ_FILE, READ_FOLDER, held, open_beneath, open_path
from hermes.lib.trees import Room

_LARGEST_LIST: Final = 64 << 20
_MOST_BRANCHES: Final = 10_000
_DEEPEST: Final = 20
_CHUNK: Final = 1 << 20
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED: Final = re.compile(r"^([0-9a-f]{40,64}) refs/heads/(.+)$", re.MULTILINE)
_FIRST: Final = re.compile(r"[0-9a-f]{2}")
_REST: Final = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK: Final = re.compile(r"pack-[0-9a-f]{40}(?:[0-9a-f]{24})?\.(?:pack|idx)")


def open_git(top: Path) -> int:
    """A descriptor of the folder `.git` in `top`; OSError where there is none, or a link on the way."""
    return open_path(top / ".git", READ_FOLDER)


def branches(git: int) -> dict[str, str]:
    """The commits of the branches in an open git folder, by their names; "" for one that names none. OSError
    where they cannot be read, EFBIG where there are too many.
    """
    found: dict[str, str] = {}
    with suppress(FileNotFoundError):
        listed = _text(git, "packed-refs", _LARGEST_LIST)
        found = {name: commit for commit, name in _PACKED.findall(listed)}
    with suppress(FileNotFoundError), held(open_beneath(git, "refs/heads", READ_FOLDER)) as heads:
        for name in _names(heads, "", _DEEPEST):
            if len(found) >= _MOST_BRANCHES:
                raise OSError(errno.EFBIG, "there are too many branches", "refs/heads")
            text = _text(heads, name, 1_000).strip()
            found[name] = text if _COMMIT.fullmatch(text) else ""
    return found


def copy_objects(git: int, target: Path, room: Room) -> None:
    """Copy what has the name of an object, or of a pack of them, to the folder `target`, which is made; what
    else lies there, such as a way to other objects, is left out. OSError where it cannot be read or written,
    TooLarge when there is no room for it.
    """
    target.mkdir()
    with held(open_beneath(git, "objects", READ_FOLDER)) as objects:
        for folder in _listed(objects):
            wanted = _PACK if folder == "pack" else _REST if _FIRST.fullmatch(folder) else None
            if wanted is not None:
                _copy_folder(objects, folder, wanted, target, room)


def _copy_folder(objects: int, folder: str, wanted: re.Pattern[str], target: Path, room: Room) -> None:
    with held(open_beneath(objects, folder, READ_FOLDER)) as found:
        names = [name for name in _listed(found) if wanted.fullmatch(name)]
        if names:
            (target / folder).mkdir()
        for name in names:
            _copy_file(found, name, target / folder / name, room)


def _copy_file(folder: int, name: str, target: Path, room: Room) -> None:
    with held(_opened(folder, name)) as source, target.open("xb") as copy:
        left = os.fstat(source).st_size
        room.take(left)
        while left > 0 and (data := os.read(source, min(left, _CHUNK))):
            copy.write(data)
            left -= len(data)


def _names(folder: int, before: str, depth: int) -> Iterator[str]:
    """The files below an open folder, by their paths from it, but for those that git holds while it writes;
    OSError for what is neither file nor folder.
    """
    for name in _listed(folder):
        if name.endswith(".lock"):
            continue
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            yield before + name
        elif depth:
            with held(open_beneath(folder, name, READ_FOLDER)) as inner:
                yield from _names(inner, f"{before}{name}/", depth - 1)


def _listed(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


def _text(folder: int, name: str, most: int) -> str:
    with os.fdopen(_opened(folder, name), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, "the file is too large", name)
    return data.decode("utf-8", "surrogateescape")


def _opened(folder: int, name: str) -> int:
    """A descriptor of a regular file."""
    descriptor = open_beneath(folder, name, READ_FILE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", name)
    return descriptor
