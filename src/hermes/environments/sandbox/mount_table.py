"""What is mounted where: a folder can be seen at several places, and in other namespaces at others."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

_MOUNT: Final = re.compile(rb"\S+ \S+ (\S+) (\S+) (\S+) ")
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")


class MountRow(Struct, frozen=True):
    """The folder `root` of a device is seen at `place`."""

    device: bytes
    root: str
    place: str


def mount_rows(process: str) -> list[MountRow]:
    """The mounts of a process, the latest last; OSError where the user may not look."""
    return list(_rows(Path(f"/proc/{process}/mountinfo").read_bytes()))


def places_of(path: str, theirs: Iterable[MountRow], ours: Iterable[MountRow]) -> Iterator[str]:
    """The paths by which what `theirs` has at a path is seen by `ours`."""
    around = [row for row in theirs if _below(path, row.place) is not None]
    if not around:
        return
    at = max(reversed(around), key=lambda row: len(row.place))
    inner = f"{at.root.rstrip('/')}{_below(path, at.place)}"
    for row in ours:
        rest = _below(inner, row.root) if row.device == at.device else None
        if rest is not None:
            yield f"{row.place.rstrip('/')}{rest}"


class SeenTwice:
    """The places by which this process sees a path a second time. The table is read at each `look`, and
    understood when it has changed.
    """

    def __init__(self) -> None:
        self._table = b""
        self._rows: list[MountRow] = []
        self._known: dict[str, tuple[str, ...]] = {}

    def look(self) -> None:
        """Take note of what is mounted now; what cannot be read stays as it was."""
        try:
            table = Path("/proc/self/mountinfo").read_bytes()
        except OSError:
            return
        if table != self._table:
            self._table, self._rows, self._known = table, list(_rows(table)), {}

    def others(self, path: str) -> tuple[str, ...]:
        """The other places of an absolute path."""
        if path not in self._known:
            real = os.path.realpath(path)
            found = dict.fromkeys(places_of(real, self._rows, self._rows))
            self._known[path] = tuple(one for one in found if one != real)
        return self._known[path]


def _rows(table: bytes) -> Iterator[MountRow]:
    for row in map(_MOUNT.match, table.splitlines()):
        if row:
            yield MountRow(row[1], _plain(row[2]), _plain(row[3]))


def _below(path: str, top: str) -> str | None:
    """The rest of a path below a folder, with its slash; None where it lies elsewhere."""
    top = top.rstrip("/")
    return path[len(top) :] if path == top or path.startswith(f"{top}/") else None


def _plain(place: bytes) -> str:
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), place))
