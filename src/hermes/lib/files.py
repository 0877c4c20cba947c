"""Files written whole or not at all, and where a path really lies."""

import glob
import itertools
import os
import tempfile
from pathlib import Path
from typing import Final

_MOST_FITTING: Final = 200


def make_private(folder: Path) -> None:
    """Make a folder and those it lies in, for this user alone; one that is there stays as it is."""
    for one in (*reversed(folder.parents), folder):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace `path` with `data` in one step, making its folder; keeps the file's mode unless `mode` is
    given.
    """
    make_private(path.parent)
    keep = mode if mode is not None else _mode_of(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if keep is not None:
            temporary.chmod(keep)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def real_paths(pattern: str) -> list[str]:
    """Where the files lie, links followed, that an absolute path or a pattern of a shell stands for; of very
    many the first.
    """
    if not glob.has_magic(pattern):
        return [os.path.realpath(pattern)]
    fitting = glob.iglob(pattern, include_hidden=True)  # noqa: PTH207  # the pattern is absolute
    return [os.path.realpath(path) for path in itertools.islice(fitting, _MOST_FITTING)]


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return 0o644
