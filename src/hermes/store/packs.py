"""Contents of files, each kept once, many to a file: writing ten thousand small files takes seconds."""

import hashlib
import logging
import os
import secrets
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct, field

from hermes.types.error import StoreError

_DIGEST: Final = 20
_LENGTH: Final = 8
_PACK: Final = ".pack"
_HALF: Final = ".half"

logger = logging.getLogger(__name__)


class _Place(Struct, frozen=True):
    """Where a content is: a pack, and the bytes in it."""

    pack: str
    start: int
    size: int


class NewPack(Struct):
    """A pack that is being written; what was there before is not written again."""

    file: BinaryIO
    known: Container[bytes]
    index: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    size: int = 0

    def add(self, data: bytes) -> bytes:
        """Keep a content; its digest."""
        digest = digest_of(data)
        if digest not in self.known and digest not in self.index:
            self.index[digest] = (self.size, len(data))
            self.file.write(data)
            self.size += len(data)
        return digest

    def end(self) -> None:
        """Write where everything is."""
        index = msgspec.msgpack.encode([(digest, *place) for digest, place in self.index.items()])
        self.file.write(index + len(index).to_bytes(_LENGTH))
        self.file.flush()


class Packs:
    """The packs in a folder. One is there whole or not at all; what a disk lost is told by its digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packs: set[str] = set()
        self._places: dict[bytes, _Place] = {}
        self._is_damaged = False

    @contextmanager
    def adding(self) -> Iterator[NewPack]:
        """A new pack, kept unless the block fails, or adds nothing."""
        self.refresh()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        half = self._folder / f"{secrets.token_hex(6)}{_HALF}"
        try:
            with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                pack = NewPack(file, self._places)
                yield pack
                pack.end()
            if pack.index:
                half.rename(half.with_suffix(_PACK))
        finally:
            half.unlink(missing_ok=True)
        self.refresh()

    def read(self, digest: bytes) -> bytes:
        """A content; StoreError where it is not there, or is not what it was. Such a one counts as gone from
        then on, so that it is kept anew where it is met again.
        """
        if digest not in self._places:
            self.refresh()
        try:
            place = self._places[digest]
            with (self._folder / place.pack).open("rb") as file:
                file.seek(place.start)
                data = file.read(place.size)
        except (KeyError, OSError) as error:
            raise StoreError(f"A checkpoint lacks the content of a file ({digest.hex()}).") from error
        if digest_of(data) != digest:
            del self._places[digest]
            self._is_damaged = True
            raise StoreError(f"The content of a file in a checkpoint is damaged ({digest.hex()}).")
        return data

    def refresh(self) -> bool:
        """Look for packs that came since, or went, and say whether any content is gone; a pack without a
        sound index counts for nothing.
        """
        names = {path.name for path in self._folder.glob(f"*{_PACK}")}
        gone = bool(self._packs - names)
        if gone:
            self._places = {digest: one for digest, one in self._places.items() if one.pack in names}
        for name in sorted(names - self._packs, key=self._written):  # the newest copy of a content counts
            with suppress(OSError, ValueError):
                self._places |= _index(self._folder / name)
        self._packs = names
        gone, self._is_damaged = gone or self._is_damaged, False
        return gone

    def verify(self, digest: bytes) -> bool:
        """Whether a content is there and is what it was; a damaged one is kept anew when it is added."""
        return self.holds(digest) and self._sound(digest) is not None

    def holds(self, digest: bytes) -> bool:
        """Whether a content is there, as of the last look."""
        return digest in self._places

    def sweep(self, keep: Container[bytes]) -> int:
        """Remove what is not to be kept; the bytes that are left. Nobody may add meanwhile.

        A pack that is more than half of use stays as it is. What is to move and is damaged goes as well.
        """
        for half in self._folder.glob(f"*{_HALF}"):
            half.unlink(missing_ok=True)
        self.refresh()
        thin = [name for name in self._packs if not self._is_full(name, keep)]
        moved = [digest for digest, one in self._places.items() if one.pack in thin and digest in keep]
        kept = {digest: data for digest in moved if (data := self._sound(digest)) is not None}
        self._places = {digest: one for digest, one in self._places.items() if one.pack not in thin}
        if kept:
            with self.adding() as pack:
                for data in kept.values():
                    pack.add(data)
        for name in thin:
            (self._folder / name).unlink(missing_ok=True)
        self.refresh()
        return sum((self._folder / name).stat().st_size for name in self._packs)

    def _sound(self, digest: bytes) -> bytes | None:
        """A content; None for one that is damaged, which the log names."""
        try:
            return self.read(digest)
        except StoreError as error:
            logger.warning("%s It is left out from now on.", error)
            return None

    def _written(self, name: str) -> int:
        with suppress(OSError):
            return (self._folder / name).stat().st_mtime_ns
        return 0

    def _is_full(self, name: str, keep: Container[bytes]) -> bool:
        sizes = [(one.size, digest in keep) for digest, one in self._places.items() if one.pack == name]
        return sum(size for size, used in sizes if used) * 2 > sum(size for size, _ in sizes)


def digest_of(data: bytes) -> bytes:
    """The name of a content."""
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def sealed(data: bytes) -> bytes:
    """Bytes with their digest before them."""
    return digest_of(data) + data


def unsealed(data: bytes) -> bytes:
    """The bytes that were sealed; ValueError where they are not what they were."""
    digest, inner = data[:_DIGEST], data[_DIGEST:]
    if digest_of(inner) != digest:
        raise ValueError("the bytes do not fit their digest")
    return inner


def _index(path: Path) -> dict[bytes, _Place]:
    """Where the contents of a pack are, from its end; OSError and ValueError where that is damaged."""
    with path.open("rb") as file:
        end = file.seek(-_LENGTH, os.SEEK_END)
        length = int.from_bytes(file.read(_LENGTH))
        if length > end:
            raise ValueError(f"the index of {path.name} is longer than it")
        file.seek(end - length)
        rows = msgspec.msgpack.decode(file.read(length), type=list[tuple[bytes, int, int]])
    if any(start < 0 or size < 0 or start + size > end for _, start, size in rows):
        raise ValueError(f"the index of {path.name} leads out of it")
    return {digest: _Place(path.name, start, size) for digest, start, size in rows}
