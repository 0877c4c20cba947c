"""What changes in a workspace from one look at it to the next."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.beneath import READ_FILE, READ_FOLDER, held, open_beneath, open_path
from hermes.store.packs import digest_of
from hermes.store.rebuilt import IGNORED, OF_GIT, REBUILT_FOLDER
from hermes.store.snapshot import HIDDEN, Entry, Key, Scan, Seen, SnapshotLimits, SnapshotScope, Tree

_HELD: Final = 32 * 1024 * 1024
"""Bytes of what files held in between that are kept, so that the next change can be told from them."""
_SILENT: Final = frozenset(one.encode() for one in (REBUILT_FOLDER, IGNORED, OF_GIT, HIDDEN))


class TreeWatch:
    """Looks at a workspace, beginning with what a snapshot has `seen` there; `kept` gives the bytes that the
    snapshot has of a file.

    A look costs a walk, and the reading of the files that have changed.
    """

    def __init__(
        self,
        root: Path,
        seen: Seen,
        scope: SnapshotScope,
        limits: SnapshotLimits,
        *,
        hides: Callable[[str], bool],
        kept: Callable[[Entry], bytes],
    ) -> None:
        self._root, self._seen, self._scope, self._limits = root, seen, scope, limits
        self._hides, self._kept = hides, kept
        self._contents: dict[bytes, bytes] = {}
        self._room = _HELD

    def take_in(self, path: str) -> None:
        """Count what is in a file now as seen, where its folder is."""
        above = self._seen.get(path.rpartition("/")[0])
        if "/" in path and (above is None or above[1].kind != "folder"):
            return
        with suppress(OSError, ValueError), held(open_path(self._root, READ_FOLDER)) as root:
            self._seen = {**self._seen}  # the first one is the snapshot's own
            if (entry := self._entry(root, path)) is None:
                self._seen.pop(path, None)
            else:
                self._seen[path] = (None, entry)

    def changes(self, now: int, since: int) -> tuple[Tree, Tree]:
        """What the files that have changed since the last look, and not before a moment, were then and are
        now. The moment, and that of this look, are in nanoseconds of the file system. TooLarge and OSError
        where the workspace cannot be walked through.
        """
        scan = Scan(self._seen, self._scope, self._limits, keep=self._keep, hides=self._hides, started=now)
        scan.walk(self._root)
        old, self._seen = self._seen, scan.seen
        before, after = dict[str, Entry](), dict[str, Entry]()
        for path in _differing(old, scan.seen, since):
            before |= {path: old[path][1]} if path in old else {}
            after |= {path: scan.seen[path][1]} if path in scan.seen else {}
        return before, after

    def bytes_of(self, entry: Entry) -> bytes:
        """What a file held at one of the looks; StoreError where that is no longer kept."""
        found = self._contents.get(entry.content)
        return self._kept(entry) if found is None else found

    def _entry(self, root: int, path: str) -> Entry | None:
        try:
            file = os.fdopen(open_beneath(root, path, READ_FILE), "rb")
        except FileNotFoundError:
            return None
        with file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > self._limits.file:
                raise OSError
            data = file.read(self._limits.file)
        return Entry("file", stat.S_IMODE(info.st_mode), self._keep(data), len(data))

    def _keep(self, data: bytes) -> bytes:
        digest = digest_of(data)
        if digest not in self._contents and len(data) <= self._room:
            self._contents[digest] = data
            self._room -= len(data)
        return digest


def _differing(old: Seen, new: Seen, since: int) -> list[str]:
    changed = [
        path
        for path, one in new.items()
        if one is not old.get(path) and _is_change(old.get(path), one) and _is_after(one[0], since)
    ]
    return [*changed, *(path for path in old if path not in new and old[path][1].content not in _SILENT)]


def _is_change(old: tuple[Key, Entry] | None, new: tuple[Key, Entry]) -> bool:
    """Whether this is another content or mode; of what is not read, whether it may be."""
    if new[1].kind == "out":
        return new[1].content not in _SILENT and (old is None or old[0] != new[0])
    return old is None or old[1] != new[1]


def _is_after(key: Key, since: int) -> bool:
    return key is None or max(key[0], key[1]) >= since
