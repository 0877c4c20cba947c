"""Archives that strangers made (zip, tar.gz): their files are read in memory, within bounds, and all that is
no plain file with a plain name is refused. Nothing is written here, so nothing can be written elsewhere.
"""

import io
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from hermes.lib.files import make_private

T = TypeVar("T")
_ZIP: Final = b"PK"
_GZIP: Final = b"\x1f\x8b"
_READ: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Ways of packing that unpack in steps whose size can be bounded."""
_ENCRYPTED, _UTF8, _UNIX = 0x1, 0x800, 16
_TAR_BLOCK: Final = 512
_LONGEST: Final = 400
_FAULTS: Final = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, NotImplementedError)


class BadArchive(ValueError):
    """What is in an archive is not taken; the message says why."""


class ArchivedFile(Struct, frozen=True):
    """The bytes of a file, and whether it is a program."""

    data: bytes
    runs: bool = False


class ArchiveBounds(Struct, frozen=True, kw_only=True):
    """How much an archive may hold."""

    files: int
    bytes: int


def archived_files(data: bytes, bounds: ArchiveBounds) -> dict[str, ArchivedFile]:
    """The files of a zip or tar.gz by their paths; BadArchive where it is none, damaged, too much, or has
    something else in it than files and folders.
    """
    read = _zipped if data.startswith(_ZIP) else _tarred if data.startswith(_GZIP) else None
    if read is None:
        raise BadArchive("it is neither a zip nor a tar.gz")
    found: dict[str, ArchivedFile] = {}
    taken = _TakenNames()
    try:
        for path, file in read(data, bounds):
            taken.add(path)
            found[path] = file
    except BadArchive:
        raise
    except _FAULTS as error:
        raise BadArchive(f"it is damaged ({type(error).__name__})") from error
    return found


def write_files(files: Mapping[str, ArchivedFile], folder: Path) -> None:
    """Write files below a folder that nobody else can write to; nothing that is there is written over."""
    for path, file in files.items():
        target = folder / path
        make_private(target.parent)
        with target.open("xb") as written:
            written.write(file.data)
        target.chmod(0o755 if file.runs else 0o644)


def check_path(path: str) -> None:
    """BadArchive unless a path stays in its folder on every system, and shows what it is."""
    parts = path.split("/")
    if not path.isprintable() or len(path.encode("utf-8", "replace")) > _LONGEST:
        raise BadArchive(f"a name in it is no plain text: {path[:80]!r}")
    if any(one in {"", ".", ".."} or "\\" in one or ":" in one for one in parts):
        raise BadArchive(f"a name in it leads elsewhere: {path[:80]!r}")


class _TakenNames:
    """Names that file systems hold for one: those that differ in case or in the form of their accents."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, path: str) -> None:
        check_path(path)
        plain = unicodedata.normalize("NFC", path).casefold()
        above = {plain[:at] for at, letter in enumerate(plain) if letter == "/"}
        if plain in self._files or plain in self._folders or above & self._files:
            raise BadArchive(f"two names in it are one and the same: {path[:80]!r}")
        self._files.add(plain)
        self._folders |= above


def _zipped(data: bytes, bounds: ArchiveBounds) -> Iterator[tuple[str, ArchivedFile]]:
    left = bounds.bytes
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in _few(archive.infolist(), bounds):
            mode = info.external_attr >> _UNIX
            _check_zipped(info, mode)
            if info.is_dir():
                continue
            with archive.open(info) as packed:
                file = packed.read(left + 1)
            left -= len(file)
            _refuse_much(left, bounds)
            yield info.filename, ArchivedFile(file, bool(mode & 0o100))


def _check_zipped(info: zipfile.ZipInfo, mode: int) -> None:
    if info.orig_filename != info.filename or not (info.filename.isascii() or info.flag_bits & _UTF8):
        raise BadArchive(f"a name in it is no plain text: {info.filename[:80]!r}")
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise BadArchive(f"{info.filename[:80]!r} in it is a link or a device")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _READ:
        raise BadArchive(f"{info.filename[:80]!r} in it is encrypted, or packed in a way that is not read")


def _tarred(data: bytes, bounds: ArchiveBounds) -> Iterator[tuple[str, ArchivedFile]]:
    most = bounds.bytes + (bounds.files + 2) * 4 * _TAR_BLOCK  # each file has blocks of its own around it
    plain = zlib.decompressobj(31).decompress(data, most + 1)
    _refuse_much(most - len(plain), bounds)
    left = bounds.bytes
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
        for info in _few(archive, bounds):
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise BadArchive(f"{info.name[:80]!r} in it is a link or a device")
            packed = archive.extractfile(info)
            file = packed.read() if packed else b""
            left -= len(file)
            _refuse_much(left, bounds)
            yield info.name.removeprefix("./"), ArchivedFile(file, bool(info.mode & 0o100))


def _refuse_much(left: int, bounds: ArchiveBounds) -> None:
    if left < 0:
        raise BadArchive(f"it unpacks to more than {bounds.bytes:,} bytes")


def _few(entries: Iterable[T], bounds: ArchiveBounds) -> Iterator[T]:
    """The entries, as long as these are not too many; a folder may stand for itself beside each file."""
    for number, one in enumerate(entries):
        if number >= bounds.files * 2:
            raise BadArchive(f"it has more than {bounds.files} files")
        yield one
