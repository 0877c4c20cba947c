"""A file that a living process holds: let go of by its end, however that comes; not by its being stopped."""

import fcntl
import os
import time
from pathlib import Path

from hermes.lib.files import make_private

_TRIES, _PAUSE = 4, 0.005
_LONGEST = 20_000  # a path in JSON, every byte of it escaped


class HeldFile:
    """A file that this process has taken, with what it wrote there for others to read."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle

    @property
    def is_ours(self) -> bool:
        """Whether nobody has taken the place from us since."""
        return _is_at(self._path, self._handle)

    def write(self, words: bytes) -> None:
        """Have it say this instead."""
        os.pwrite(self._handle, words, 0)
        os.ftruncate(self._handle, len(words))

    def leave(self) -> None:
        """Let go of it, and leave it as it is."""
        os.close(self._handle)

    def close(self) -> None:
        """Let go of it, and remove it."""
        if self.is_ours:
            self._path.unlink(missing_ok=True)
        os.close(self._handle)


def take(path: Path, words: bytes) -> HeldFile | None:
    """Take the file and write `words` into it, or None while another process holds it."""
    make_private(path.parent)
    for _ in range(_TRIES):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            time.sleep(_PAUSE)  # noqa: TID251  # for a thread; `holder` has it for a moment, too
            continue
        if _is_at(path, handle):
            os.ftruncate(handle, 0)
            os.write(handle, words)
            return HeldFile(path, handle)
        os.close(handle)  # its holder removed it between our two calls
    return None


def share(path: Path) -> int | None:
    """An open descriptor that holds the file together with others, until it is closed; None while somebody
    has it alone.
    """
    return _locked(path, fcntl.LOCK_SH)


def take_alone(path: Path) -> int | None:
    """An open descriptor that holds a shared file alone, until it is closed; None while others hold it."""
    return _locked(path, fcntl.LOCK_EX)


def is_shared(path: Path) -> bool:
    """Whether any process holds a shared file now; changes nothing."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _locked(path: Path, how: int) -> int | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)  # noqa: TID251  # for a thread; `is_shared` has it for a moment, too
        else:
            return handle
    os.close(handle)
    return None


def holder(path: Path) -> bytes | None:
    """What the living process that holds the file wrote there, or None when nobody holds it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, _LONGEST)
    finally:
        os.close(handle)
    return None


def _is_at(path: Path, handle: int) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
