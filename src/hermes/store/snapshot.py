"""What a workspace holds at one moment: its files, links and folders, with the contents kept by digest."""

import os
import stat
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from hermes.lib.beneath import READ_FOLDER, held, open_path
from hermes.lib.trees import TooLarge
from hermes.store.rebuilt import LeavesOut, Rules

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_DEEPEST: Final = 100
TOO_MUCH: Final = "the workspace has more than is saved"
HIDDEN: Final = "not to be seen"
_TICK: Final = 20_000_000
"""Nanoseconds within which a file may change twice and its times stay."""
_WRITTEN_BACK: Final = 60_000_000_000
"""Nanoseconds after which the kernel has written out what came through a mapping; until then a file may
change there and its times stay.
"""
_READ_AGAIN: Final = 200
"""How many files that changed since then one walk reads again."""


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """What is at a path: a `file` with the digest of its bytes as `content`, a `link` with where it leads, a
    `folder`, or something left `out`, with why.
    """

    kind: Literal["file", "link", "folder", "out"]
    mode: int
    content: bytes = b""
    size: int = 0


Tree = Mapping[str, Entry]
"""The entries by their path in the workspace, names that are no text as `os.fsdecode` has them."""

Key = tuple[int, int, int, int, int] | None
"""What changes with a file; None for one that has to be read the next time."""

Seen = dict[str, tuple[Key, Entry]]


class SnapshotLimits(Struct, frozen=True, kw_only=True):
    """The largest file and the largest workspace, in bytes, and the most entries."""

    file: int = 10 * 1024 * 1024
    all: int = 256 * 1024 * 1024
    entries: int = 50_000


class SnapshotScope(Struct, frozen=True):
    """What a walk goes by: the rules for folders, and the paths that alone are saved, however much there is
    besides; None for all.
    """

    rules: LeavesOut
    paths: Container[str] | None = None


class Scan:
    """One walk through a workspace. Only files that changed since what was `known` are read; `keep` takes
    their bytes and gives the digest.
    """

    def __init__(
        self,
        known: Seen,
        scope: SnapshotScope,
        limits: SnapshotLimits,
        *,
        keep: Callable[[bytes], bytes],
        hides: Callable[[str], bool],
        started: int,
    ) -> None:
        self._known, self._scope, self._limits = known, scope, limits
        self._rules = scope.rules
        self._keep, self._hides = keep, hides
        self._young, self._settled = started - _TICK, started - _WRITTEN_BACK
        self._again = _READ_AGAIN
        self._left = limits.all
        self._root = ""
        self.seen: Seen = {}
        self.changed = False

    def walk(self, root: Path) -> None:
        """Fill `seen`, with nothing where no workspace is; TooLarge and OSError say that it cannot be."""
        self._root = f"{root}/"
        if root.is_symlink() or root.exists():
            with held(open_path(root, READ_FOLDER)) as folder:
                self._folder(folder, "", (), _DEEPEST)
        self.changed = self.changed or len(self.seen) != len(self._known)

    def _folder(self, folder: int, above: str, rules: Rules, depth: int) -> None:
        with os.scandir(folder) as found:
            entries = list(found)
        rules = self._rules.inside(rules, folder, above.rstrip("/"))
        seen, known, only = self.seen, self._known, self._scope.paths
        for one in entries:
            path = above + one.name
            if only is not None and path not in only:
                self._pass(path)
                continue
            try:
                info = one.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            mode = info.st_mode
            key = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, mode)
            old = known.get(path)
            if old is not None and old[0] == key and (key[0] < self._settled or not self._reads_again(mode)):
                seen[path] = old
                self._left -= old[1].size
            elif stat.S_ISDIR(mode):
                self._inner(folder, one.name, path, rules, mode, depth)
            else:
                self._note(path, key, self._entry(folder, one.name, path, info))
        if only is None and (self._left < 0 or len(seen) > self._limits.entries):
            raise TooLarge

    def _reads_again(self, mode: int) -> bool:
        """Whether a file that changed lately is read although its times are the same."""
        if stat.S_ISREG(mode):
            self._again -= 1
        return stat.S_ISREG(mode) and self._again >= 0

    def _pass(self, path: str) -> None:
        """Note something that is not saved; of very many, the first."""
        if len(self.seen) < self._limits.entries:
            self._note(path, None, _out(TOO_MUCH))

    def _inner(self, folder: int, name: str, path: str, rules: Rules, mode: int, depth: int) -> None:
        why = self._rules.why(name, path, rules) or self._hidden(path)
        if not why and not depth:
            raise TooLarge
        if not why:
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                return
            except OSError as error:
                why = error.strerror or "it cannot be read"
            else:
                self._note(path, None, Entry("folder", stat.S_IMODE(mode)))
                with held(inner):
                    self._folder(inner, f"{path}/", rules, depth - 1)
                return
        self._note(path, None, _out(why))

    def _entry(self, folder: int, name: str, path: str, info: os.stat_result) -> Entry:
        mode = stat.S_IMODE(info.st_mode)
        if why := self._hidden(path):
            return _out(why)
        try:
            if stat.S_ISLNK(info.st_mode):
                return Entry("link", mode, os.fsencode(os.readlink(name, dir_fd=folder)))
            if not stat.S_ISREG(info.st_mode):
                return _out("no file")
            if info.st_size > self._limits.file:
                return _out("too large")
            with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                data = file.read(self._limits.file + 1)
        except OSError as error:
            return _out(error.strerror or "it cannot be read")
        if len(data) > self._limits.file:
            return _out("too large")
        if len(data) > self._left:
            if self._scope.paths is None:
                raise TooLarge
            return _out(TOO_MUCH)
        self._left -= len(data)
        return Entry("file", mode, self._keep(data), len(data))

    def _hidden(self, path: str) -> str:
        return HIDDEN if self._hides(self._root + path) else ""

    def _note(self, path: str, key: Key, entry: Entry) -> None:
        """Take in an entry; a file that changed a moment ago is read again the next time."""
        old = self._known.get(path)
        self.changed = self.changed or old is None or old[1] != entry
        young = key is not None and max(key[0], key[1]) > self._young
        self.seen[path] = (None if young else key, entry)


def encoded(tree: Tree) -> bytes:
    """A tree as bytes, the same for the same tree."""
    return msgspec.msgpack.encode([(os.fsencode(path), tree[path]) for path in sorted(tree)])


def decoded(data: bytes) -> dict[str, Entry]:
    """The tree of such bytes; `msgspec.DecodeError` where they are none."""
    rows = msgspec.msgpack.decode(data, type=list[tuple[bytes, Entry]])
    return {os.fsdecode(path): entry for path, entry in rows}


def _out(why: str) -> Entry:
    return Entry("out", 0, why.encode())
