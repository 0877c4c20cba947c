"""Copies of a store: made while others write, verified, and brought back whole or not at all."""

import datetime as dt
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from msgspec.structs import replace

from hermes.lib import locks, sqlite
from hermes.lib.files import make_private
from hermes.store.check import StoreCheck, check
from hermes.store.migrations import scripts
from hermes.store.presence import alone
from hermes.store.reading import faults_of, reading
from hermes.store.search import remove
from hermes.types.error import StorageDamaged, StoreError

_BESIDE = ("-wal", "-shm")


def backup(path: Path, to: Path) -> StoreCheck:
    """Copy a store as it is at one moment, while other processes write, and verify the copy.

    StoreError where there is something at `to` already, or the copy could not be made; StorageDamaged where
    it is not whole. Then there is nothing at `to`.
    """
    if to.exists():
        raise StoreError(f"{to} is there already; name another file, or remove it.")
    with faults_of(to):
        make_private(to.parent)
        half = _half_of(to)
    held = locks.share(half)
    try:
        copied = copy_verified(path, half, named=to)
        with faults_of(to):
            os.link(half, to)  # never over a file that came meanwhile
            sync_folder(to.parent)
    finally:
        clear(half)
        if held is not None:
            os.close(held)
    return replace(copied, path=str(to))


def backup_before_migration(path: Path) -> None:
    """Copy a store that an older Hermes has written, before it is brought up to date; one copy for each
    schema.

    StoreError and StorageDamaged where that cannot be done.
    """
    version = sqlite.schema_of(path)
    if not 0 < version < len(scripts("sessions")):
        return
    to = path.parent / "backups" / f"{path.stem}.schema-{version}.db"
    try:
        if not to.exists():
            backup(path, to)
    except StoreError:
        if not to.exists():  # another process was faster
            raise


def restore(path: Path, index: Path, copy: Path, now: float) -> tuple[StoreCheck, Path | None]:
    """Put a verified copy in the place of a store; what it holds, and where the store that was there is kept.

    StoreError while any process has the store open, and StorageDamaged for a copy that is not whole: then
    nothing has changed. Whenever the process dies, the store is the old one or the new one.
    """
    half = path.with_name(f".{path.name}.half")
    try:
        with alone(path):
            clear(half)
            copied = copy_verified(copy, half, named=path)
            kept = put_in_place(path, index, half, now, "replaced")
    finally:
        clear(half)
    return replace(copied, path=str(path)), kept


def copy_verified(path: Path, to: Path, *, named: Path) -> StoreCheck:
    """Copy a store into one file, synced; what a full check says of the copy. StorageDamaged where that is
    anything but well, StoreError where it cannot be copied; it calls the copy by the name that it is to have.
    """
    if not path.is_file():
        raise StoreError(f"There is no store at {path}.")
    with reading(path) as rows, faults_of(named), closing(sqlite3.connect(to, isolation_level=None)) as copy:
        to.chmod(0o600)
        _copy_pages(path, rows, copy)
        copy.execute("PRAGMA journal_mode=DELETE").fetchone()  # one file holds all of it
    found = check(to, full=True)
    if found.faults:
        fault = found.faults[0].replace(str(to), "its copy").rstrip(".")
        raise StorageDamaged(f"{path} is not whole: {fault}. hermes store check --full tells more.")
    with faults_of(named):
        sync(to)
    return found


def _copy_pages(path: Path, rows: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    try:
        rows.backup(copy)
    except sqlite3.OperationalError:  # of the disk that the copy is on
        raise
    except sqlite3.DatabaseError as error:
        raise StorageDamaged(f"{path} is damaged ({error}).") from error


def put_in_place(path: Path, index: Path, new: Path, now: float, why: str) -> Path | None:
    """Have a whole new file be the store, and keep the old one beside it under a dated name, which is given.

    The search index is removed: it is built again from the rows.
    """
    with faults_of(path):
        kept = None
        if path.exists():
            _fold_log(path)
            kept = _free_name(path, now, why)
            _keep(path, kept)
        remove(index)
        for name in _BESIDE:  # the log of the old file would be taken for one of the new
            path.with_name(path.name + name).unlink(missing_ok=True)
        new.replace(path)
        sync_folder(path.parent)
    return kept


def sync(path: Path) -> None:
    """Have a file on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fold_log(path: Path) -> None:
    """Bring the log of a process that died into the file, so that the file alone is the old store; one that
    is damaged is kept with its log.
    """
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path, isolation_level=None)) as rows:
        rows.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _keep(path: Path, kept: Path) -> None:
    """Copy the old store, with its log where that could not be folded in; there whole or not at all."""
    half = kept.with_name(f".{kept.name}.half")
    for name in ("-wal", ""):  # the file last: it says that the copy is whole
        old = path.with_name(path.name + name)
        if old.exists() and (not name or old.stat().st_size):
            shutil.copy2(old, half)
            sync(half)
            half.rename(kept.with_name(kept.name + name))


def _half_of(to: Path) -> Path:
    """A file for a copy under way; those are removed that processes have left which died."""
    for half in to.parent.glob(f".{to.name}.*.half"):
        if not locks.is_shared(half):
            clear(half)
    handle, name = tempfile.mkstemp(dir=to.parent, prefix=f".{to.name}.", suffix=".half")
    os.close(handle)
    return Path(name)


def clear(path: Path) -> None:
    """Remove what a process that died has left of a file under way."""
    for name in ("", "-journal", *_BESIDE):
        path.with_name(path.name + name).unlink(missing_ok=True)


def _free_name(path: Path, now: float, why: str) -> Path:
    stamp = f"{dt.datetime.fromtimestamp(now, tz=dt.UTC).astimezone():%Y%m%d-%H%M%S}"
    names = [
        f"{path.stem}.{why}-{stamp}{more}{path.suffix}" for more in ("", *(f"-{n}" for n in range(2, 100)))
    ]
    return next(one for name in names if not (one := path.with_name(name)).exists())
