"""What is in the files that a command line names, so that a yes is for them as they were."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

_WORD: Final = re.compile(r"[^\s'\"();|&<>`$={}]+")
_WRITTEN: Final = re.compile(rf"(?<![<>])>\|?\s*(?:{_WORD.pattern})")
_WORDS: Final = 200
_WHOLE: Final = 262_144  # bytes; of a larger file its size and times stand for it


def content_of(command: str, cwd: str) -> str:
    """A digest, 20 hexadecimal digits, of the regular files that the words of a command name, from `cwd` or
    from a folder that it names; "" where it names none. What stands only behind a `>` is what it writes anew.
    It reads no shell: too many words do no harm here.
    """
    digest = hashlib.blake2s(digest_size=10)
    found = False
    for path in _named(command, cwd):
        if told := _told(path):
            found = True
            digest.update(f"{path}\0".encode("utf-8", "surrogateescape") + told)
    return digest.hexdigest() if found else ""


def _named(command: str, cwd: str) -> Iterator[str]:
    words = list(dict.fromkeys(_WORD.findall(_WRITTEN.sub(" ", command[:100_000]))))[:_WORDS]
    paths = [os.path.join(cwd, word) for word in words]  # noqa: PTH118  # each command waits for this
    folders = [cwd, *filter(os.path.isdir, paths)][:8]
    yield from dict.fromkeys(
        os.path.join(folder, word)  # noqa: PTH118  # as above
        for folder in folders
        for word in words
    )


def _told(path: str) -> bytes:
    """What stands for a regular file; b"" for anything else."""
    with suppress(OSError, ValueError):
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  # as above
            return b""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            known = os.fstat(descriptor)
            if known.st_size > _WHOLE:
                return f"{known.st_size} {known.st_mtime_ns} {known.st_ino}".encode()
            return hashlib.blake2s(file.read(_WHOLE)).digest()
    return b""
