"""Files with several names: a mount covers one of them, and the others stay writable."""

import os
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.beneath import FOLDER, READ_FILE, held, open_beneath, open_path

_LARGEST: Final = 10_000_000


def make_single(paths: Iterable[str]) -> None:
    """Put a copy in the place of each regular file that has names besides those of `paths`, so that nothing
    written to them changes it; one that cannot be copied, or is larger than 10 MB, stays.
    """
    shared = {path: found for path in paths if (found := _shared(path))}
    ours = Counter((found.st_dev, found.st_ino) for found in shared.values())
    for path, found in shared.items():
        if ours[found.st_dev, found.st_ino] < found.st_nlink:
            with suppress(OSError):
                _replace_by_copy(path)


def _shared(path: str) -> os.stat_result | None:
    """What is there, where it is a regular file with more names than one."""
    with suppress(OSError):
        found = os.lstat(path)
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST:
            return found
    return None


def _replace_by_copy(path: str) -> None:
    folder, _, name = path.rpartition("/")
    copy = f".{name[:200]}.{os.urandom(8).hex()}"
    with held(open_path(Path(folder or "/"), FOLDER)) as at, held(open_beneath(at, name, READ_FILE)) as old:
        try:
            _copy(old, os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at))
            os.rename(copy, name, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            with suppress(OSError):
                os.unlink(copy, dir_fd=at)
            raise


def _copy(old: int, new: int) -> None:
    """Contents, owner, mode and times."""
    found = os.fstat(old)
    with os.fdopen(new, "wb") as file:
        while part := os.read(old, 1_000_000):
            file.write(part)
        file.flush()
        if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(new, found.st_uid, found.st_gid)
        os.fchmod(new, stat.S_IMODE(found.st_mode))
        os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
