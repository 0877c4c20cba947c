"""What is in the files that a command line names, so that a yes is for them as they were."""

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final

from msgspec import Struct

_WORD: Final = re.compile(r"[^\s'\"();|&<>`$={}]+")
_WRITTEN: Final = re.compile(rf"(?<![<>])>\|?\s*(?:{_WORD.pattern})")
_BRACKET: Final = re.compile(r"\[[^/]*")
_WORDS: Final = 200
_WHOLE: Final = 268_435_456
"""Bytes of all files together that are read: a second. For what comes after them their size, times and number
stand: the time of a change is one that no program sets back.
"""
_PART: Final = 1_048_576
_FIRST: Final = 256
"""Bytes that Linux looks at for the program that runs a file."""
_RUNNER: Final = re.compile(rb"#![ \t]*(?:\S*/env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*)?([^\s]+)")


class NamedFiles(Struct, frozen=True, kw_only=True):
    """The regular files that a command names. `content` is a digest of them, 20 hexadecimal digits, or ""
    where there are none; `runners` are the paths of those that say in their first line which program runs
    them, with that.
    """

    content: str = ""
    runners: tuple[tuple[str, str], ...] = ()


class _FileMark(Struct, frozen=True):
    """The size of a file, what stands for it, and the program that runs it."""

    size: int
    digest: bytes
    runner: str


def named_files(command: str, cwd: str, read: Iterable[str] = ()) -> NamedFiles:
    """The files that the words of a command name, from `cwd` or from a folder that it names. What stands only
    behind a `>` is what it writes anew. It reads no shell: too many words do no harm here. `read` are the
    absolute paths, and patterns, that the words were read as.
    """
    digest = hashlib.blake2s(digest_size=10)
    found, room = dict[str, str](), _WHOLE
    for path in paths_named(command, cwd, read):
        if told := _told(path, room):
            found[path], room = told.runner, max(room - told.size, 0)
            digest.update(f"{path}\0".encode("utf-8", "surrogateescape") + told.digest)
    runners = tuple((path, runner) for path, runner in found.items() if runner)
    return NamedFiles(content=digest.hexdigest() if found else "", runners=runners)


def paths_named(command: str, cwd: str, read: Iterable[str] = ()) -> Iterator[str]:
    """The paths that a command may name, as `named_files` looks at them, whatever is there."""
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


def _told(path: str, room: int) -> _FileMark | None:
    """What is told of a regular file, of which no more than `room` is read; None for anything else."""
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  # as above
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            known = os.fstat(descriptor)
            size = known.st_size
            runner = _runner(os.pread(descriptor, _FIRST, 0))
            if size > room:
                stamp = f"{size} {known.st_mtime_ns} {known.st_ctime_ns} {known.st_ino}".encode()
                return _FileMark(0, stamp, runner)
            return _FileMark(size, _digest(file, size), runner)
    return None


def _runner(first: bytes) -> str:
    """The program that the first bytes of a file name to run it; "" where they name none."""
    found = _RUNNER.match(first)
    return found[1].decode("utf-8", "replace") if found else ""


def _digest(file: BinaryIO, size: int) -> bytes:
    """A digest of the first bytes of a file: one that grows meanwhile is not followed."""
    digest = hashlib.blake2s()
    for start in range(0, size, _PART):
        digest.update(file.read(min(_PART, size - start)))
    return digest.digest()
