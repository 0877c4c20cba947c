"""What is in the files that a command line names, so that a yes is for them as they were."""

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final

_WORD: Final = re.compile(r"[^\s'\"();|&<>`$={}]+")
_WRITTEN: Final = re.compile(rf"(?<![<>])>\|?\s*(?:{_WORD.pattern})")
_BRACKET: Final = re.compile(r"\[[^/]*")
_WORDS: Final = 200
_WHOLE: Final = 268_435_456
"""Bytes of all files together that are read: a second. For what comes after them their size, times and number
stand: the time of a change is one that no program sets back.
"""
_PART: Final = 1_048_576


def content_of(command: str, cwd: str, read: Iterable[str] = ()) -> str:
    """A digest, 20 hexadecimal digits, of the regular files that the words of a command name, from `cwd` or
    from a folder that it names; "" where it names none. What stands only behind a `>` is what it writes anew.
    It reads no shell: too many words do no harm here. `read` are the absolute paths, and patterns, that the
    words were read as.
    """
    digest = hashlib.blake2s(digest_size=10)
    found, room = False, _WHOLE
    for path in _named(command, cwd, read):
        size, told = _told(path, room)
        if told:
            found, room = True, max(room - size, 0)
            digest.update(f"{path}\0".encode("utf-8", "surrogateescape") + told)
    return digest.hexdigest() if found else ""


def _named(command: str, cwd: str, read: Iterable[str]) -> Iterator[str]:
    words = list(dict.fromkeys(_WORD.findall(_WRITTEN.sub(" ", command[:100_000]))))[:_WORDS]
    paths = [os.path.join(cwd, word) for word in words]  # noqa: PTH118  # each command waits for this
    paths += (path for one in read for path in _fitting(one))
    folders = [cwd, *filter(os.path.isdir, paths)][:8]
    joined = (
        os.path.join(folder, word)  # noqa: PTH118  # as above
        for folder in folders
        for word in words
    )
    yield from dict.fromkeys((*paths, *joined))


def _fitting(path: str) -> Iterator[str]:
    """A path, and what fits it as a pattern: more than a shell would find where it has a bracket, whose
    inside is read in several ways.
    """
    yield path
    if glob.has_magic(path):
        yield from sorted(glob.iglob(_BRACKET.sub("*", path)))  # noqa: PTH207  # as above


def _told(path: str, room: int) -> tuple[int, bytes]:
    """The size of a regular file, and what stands for it, of which no more than `room` is read; b"" for
    anything else.
    """
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  # as above
            return 0, b""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            known = os.fstat(descriptor)
            size = known.st_size
            if size > room:
                return 0, f"{size} {known.st_mtime_ns} {known.st_ctime_ns} {known.st_ino}".encode()
            return size, _digest(file, size)
    return 0, b""


def _digest(file: BinaryIO, size: int) -> bytes:
    """A digest of the first bytes of a file: one that grows meanwhile is not followed."""
    digest = hashlib.blake2s()
    for start in range(0, size, _PART):
        digest.update(file.read(min(_PART, size - start)))
    return digest.digest()
