"""The snapshots of workspaces: taken, read again, unpacked, and thrown away."""

import fcntl
import hashlib
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from hermes.lib.small_files import read_small
from hermes.lib.trees import TooLarge
from hermes.store.packs import NewPack, Packs, digest_of, sealed, unsealed
from hermes.store.rebuilt import RULES, FolderRules, saved_rules
from hermes.store.snapshot import (
    Entry,
    Key,
    Scan,
    Seen,
    SnapshotLimits,
    SnapshotScope,
    Tree,
    decoded,
    encoded,
)
from hermes.store.tree_watch import TreeWatch
from hermes.types.error import StoreError


class Snapshot(Struct, frozen=True):
    """A tree, the digest of its bytes, and how many bytes of disk it took."""

    tree: Tree
    digest: bytes
    size: int = 0


_LARGEST_SEEN = 256_000_000
"""Bytes of what was seen of one workspace."""


class SnapshotStore:
    """Snapshots in a folder. What of a workspace did not change since the last one is not read again."""

    def __init__(self, folder: Path, limits: SnapshotLimits, hides: Callable[[str], bool]) -> None:
        self._folder, self._limits, self._hides = folder, limits, hides
        self._packs = Packs(folder / "packs")
        self._rules = FolderRules()
        self._last: dict[str, tuple[Seen, Snapshot]] = {}
        self._one = threading.Lock()  # a snapshot that nobody waits for any more may still be taken

    @contextmanager
    def used(self) -> Iterator[None]:
        """Nothing is thrown away until the end of the block, by any process."""
        with self._locked(fcntl.LOCK_SH):
            yield

    def take(self, workspace: str) -> Snapshot:
        """What a workspace holds now; TooLarge where that is too much, OSError where it cannot be read or
        kept. To be called within `used`.
        """
        return self._taken(workspace, SnapshotScope(self._rules))

    def watch(self, workspace: str) -> TreeWatch | None:
        """What tells what changes in a workspace after its last snapshot; None where this process has none.

        It goes by the ignore files of that snapshot, and keeps nothing on the disk.
        """
        if (held := self._last.get(workspace)) is None:
            return None
        seen, last = held
        scope = SnapshotScope(saved_rules(self._ignore_files(last.tree)))
        return TreeWatch(Path(workspace), seen, scope, self._limits, hides=self._hides, kept=self.bytes_of)

    def now(self) -> int:
        """The time in nanoseconds, as the file system has it."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            return os.fstat(file.fileno()).st_ctime_ns

    def take_since(self, workspace: str, start: bytes) -> Snapshot:
        """What a workspace holds now, by the ignore files of the tree `start`. Where that is too much, only
        what that tree has is saved, and the rest is noted as left out. StoreError where the tree cannot be
        read; OSError as `take`.
        """
        held = self._last.get(workspace)
        tree = held[1].tree if held is not None and held[1].digest == start else self.tree(start)
        rules = saved_rules(self._ignore_files(tree))
        with suppress(TooLarge):
            return self._taken(workspace, SnapshotScope(rules))
        return self._taken(workspace, SnapshotScope(rules, tree))

    def _ignore_files(self, tree: Tree) -> Iterator[tuple[str, bytes]]:
        for path, entry in tree.items():
            if path.endswith(RULES) and entry.kind == "file" and PurePosixPath(path).name == RULES:
                with suppress(StoreError):
                    yield path, self.bytes_of(entry)

    def _taken(self, workspace: str, scope: SnapshotScope) -> Snapshot:
        with self._one:
            known, last = self._known(workspace)
            with self._packs.adding() as pack:
                scan = self._scan(workspace, known, pack, scope)
                if fresh := last is None or scan.changed or not self._packs.verify(last.digest):
                    tree = {path: entry for path, (_, entry) in scan.seen.items()}
                    last = Snapshot(tree, self._kept(encoded(tree), pack), pack.size)
            self._last[workspace] = scan.seen, last  # from here on its contents are there
            if fresh:
                self._remember(workspace, scan.seen)
        return msgspec.structs.replace(last, size=pack.size)

    def _kept(self, tree: bytes, pack: NewPack) -> bytes:
        """Keep a tree; its digest. All of a snapshot hangs on it, so one that is there is read once more."""
        self._packs.verify(digest_of(tree))
        return pack.add(tree)

    def _scan(self, workspace: str, known: Seen, pack: NewPack, scope: SnapshotScope) -> Scan:
        scan = Scan(
            known,
            scope,
            self._limits,
            keep=pack.add,
            hides=self._hides,
            started=os.fstat(pack.file.fileno()).st_mtime_ns,
        )
        scan.walk(Path(workspace))
        return scan

    def tree(self, digest: bytes) -> dict[str, Entry]:
        """The tree of that digest; StoreError where it cannot be read."""
        try:
            return decoded(self._packs.read(digest))
        except ValueError as error:
            raise StoreError(f"A checkpoint is damaged: {error}") from error

    def holds(self, digest: str) -> bool:
        """Whether a tree with that digest, in hexadecimal digits, is there and whole."""
        return bool(digest) and self._packs.verify(bytes.fromhex(digest))

    def bytes_of(self, entry: Entry) -> bytes:
        """The content of a file; StoreError where it cannot be read."""
        return self._packs.read(entry.content)

    def unpack(self, entry: Entry, place: Path) -> None:
        """Make what an entry stands for, where nothing is, with the folders that it lies in; folders are for
        this user alone, and rights that a file lends are left out.
        """
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if entry.kind == "folder":
            place.mkdir(exist_ok=True, mode=0o700)
        elif entry.kind == "link":
            place.symlink_to(os.fsdecode(entry.content))
        elif entry.kind == "file":
            place.write_bytes(self.bytes_of(entry))
            place.chmod(entry.mode & 0o777)

    def sweep(self, trees: Iterable[bytes]) -> int | None:
        """Throw away what is in none of these trees; the bytes that are left, None while somebody else is at
        work.
        """
        if not self._folder.is_dir():
            return 0
        with suppress(BlockingIOError), self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB):
            keep = set(trees)
            for digest in tuple(keep):
                with suppress(StoreError):
                    keep |= {one.content for one in self.tree(digest).values() if one.kind == "file"}
            self._last.clear()
            return self._packs.sweep(keep)
        return None

    def _known(self, workspace: str) -> tuple[Seen, Snapshot | None]:
        """What the last snapshot saw, as far as its contents are there, and that snapshot if it is whole."""
        held = self._last.get(workspace)
        gone, holds = self._packs.refresh(), self._packs.holds
        if held is not None and not gone:
            return held
        seen, last = held or (self._recalled(workspace), None)
        there = {path: one for path, one in seen.items() if one[1].kind != "file" or holds(one[1].content)}
        whole = last is not None and len(there) == len(seen) and holds(last.digest)
        return there, last if whole else None

    def _recalled(self, workspace: str) -> Seen:
        with suppress(OSError, ValueError):
            data = unsealed(read_small(self._place_of(workspace), _LARGEST_SEEN))
            rows = msgspec.msgpack.decode(data, type=list[tuple[bytes, Key, Entry]])
            return {os.fsdecode(path): (key, entry) for path, key, entry in rows}
        return {}

    def _remember(self, workspace: str, seen: Mapping[str, tuple[Key, Entry]]) -> None:
        """Write what was seen down, for the next process."""
        rows = [(os.fsencode(path), key, entry) for path, (key, entry) in seen.items()]
        place = self._place_of(workspace)
        half = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
        data = msgspec.msgpack.encode(rows)
        half.write_bytes(sealed(data))
        half.replace(place)

    def _place_of(self, workspace: str) -> Path:
        name = hashlib.blake2b(os.fsencode(workspace), digest_size=8).hexdigest()
        return self._folder / f"{name}.seen"

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)
