"""The submodules that git's index names, read from the file itself: git is not asked, for what lies in a
repository can choose what git runs.

The format is that of git's index-format documentation, versions 2 to 4, with hashes of 20 or 32 bytes.
"""

import os
import stat
import struct
from contextlib import suppress
from typing import Final

LARGEST: Final = 256 << 20
_GITLINK, _EXTENDED = 0o160000, 0x4000
_FIXED: Final = 40
"""Bytes of an entry before its hash."""


def gitlinks(git: str) -> tuple[str, ...]:
    """The paths of the submodules in the index of a git folder, as it names them; none where there is no
    index that git could read. Of a split index those of both parts.
    """
    names, shared = _links_of(f"{git}/index")
    if shared:
        names += _links_of(f"{git}/sharedindex.{shared}")[0]
    return tuple(dict.fromkeys(os.fsdecode(name) for name in names if _is_inside(name)))


def _links_of(path: str) -> tuple[list[bytes], str]:
    """The names of submodules, and the hash that names the index it is split from ("" when it is whole)."""
    data = _read(path)
    for width in (20, 32):
        with suppress(struct.error, ValueError, IndexError):
            return _parsed(data, width)
    return [], ""


def _parsed(data: bytes, width: int) -> tuple[list[bytes], str]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError(signature)
    names, at, name = [], 12, b""
    for _ in range(count):
        mode = struct.unpack_from(">I", data, at + 24)[0]
        flags = struct.unpack_from(">H", data, at + _FIXED + width)[0]
        start = at + _FIXED + width + (4 if flags & _EXTENDED else 2)
        if version == 4:
            drop, start = _number(data, start)
            end = data.index(b"\0", start)
            name, at = name[: len(name) - drop] + data[start:end], end + 1
        else:
            end = data.index(b"\0", start)
            name, at = data[start:end], at + (end - at + 8) // 8 * 8
        if mode == _GITLINK:
            names.append(name)
    return names, _shared(data, at, width)


def _shared(data: bytes, at: int, width: int) -> str:
    """The index that this one is split from, as its extension says; ValueError unless all of the rest is
    extensions and a hash.
    """
    found = ""
    while at < len(data) - width:
        kind, size = struct.unpack_from(">4sI", data, at)
        if kind == b"link":
            found = data[at + 8 : at + 8 + width].hex()
        at += 8 + size
    if at != len(data) - width:
        raise ValueError(at)
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as version 4 has it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _is_inside(name: bytes) -> bool:
    parts = name.split(b"/")
    return not any(part in {b"", b".", b"..", b".git"} for part in parts)


def _read(path: str) -> bytes:
    """The file's bytes; none of a link, a pipe, or one that is too large."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if stat.S_ISREG(info.st_mode) and info.st_size <= LARGEST:
                return file.read(LARGEST)
    return b""


def stamp_of(git: str) -> tuple[int, ...]:
    """What tells one state of an index from another; empty where there is none."""
    with suppress(OSError):
        info = os.stat(f"{git}/index", follow_symlinks=False)  # noqa: PTH116  # each command waits for this
        return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
    return ()
