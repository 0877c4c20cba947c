"""A store whose file was cut short, such as by a full disk or a copy that broke off."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes.store.backup import clear

_HEADER: Final = 32
_MAGIC: Final = b"SQLite format 3\0"
_LARGEST_PAGE: Final = 65_536


@contextmanager
def at_full_length(path: Path) -> Iterator[Path]:
    """The file, or a copy beside it with zeros where its end is missing: SQLite reads no page of a file that
    is shorter than its header says. The copy is removed afterwards. OSError where it cannot be made.
    """
    size = _told(path)
    if path.stat().st_size >= size:
        yield path
        return
    whole = path.with_name(f".{path.name}.whole")
    clear(whole)
    try:
        for name in ("", "-wal"):
            if (old := path.with_name(path.name + name)).exists():
                shutil.copyfile(old, whole.with_name(whole.name + name))
        with whole.open("r+b") as file:
            file.truncate(size)
        yield whole
    finally:
        clear(whole)


def _told(path: Path) -> int:
    """The size in bytes that the header tells (SQLite file format, 1.3); 0 where it tells none."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        return 0
    page = int.from_bytes(header[16:18]) or 1
    return (_LARGEST_PAGE if page == 1 else page) * int.from_bytes(header[28:32])
