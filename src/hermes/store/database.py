"""One SQLite file of ours: its transactions, and its errors in our words. For one thread."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from hermes.lib import sqlite
from hermes.store.migrations import scripts
from hermes.store.unusable import unusable
from hermes.types.error import StorageDamaged, StoreError

MENDING: Final = (
    "hermes store repair brings over what can be read, hermes store restore FILE brings back a backup."
)
DAMAGED: Final = f"{{}} is damaged ({{}}): {MENDING}"


class Database:
    """An open file with an up-to-date schema; StoreError and StorageDamaged say why it cannot be had, and
    `mending` what can be done about damage.
    """

    def __init__(self, path: Path, schema: str, *, mending: str = MENDING) -> None:
        self.path, self._mending = path, mending
        with self.faults():
            self.rows = sqlite.connect(path, scripts(schema))
            self._file = _identity(path)
        self.checkpoints = sqlite.Checkpoints(self.rows, path)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of it or nothing; StoreError when it could not be written, StorageDamaged when the file
        was removed or replaced since it was opened.
        """
        if self.is_replaced:
            raise StorageDamaged(
                f"{self.path} was removed or replaced while in use; nothing was written. Bring the"
                " file back and start Hermes again: what was written to it before is only there."
            )
        with self.faults(), sqlite.transaction(self.rows):
            yield

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        try:
            yield
        except (sqlite3.DatabaseError, msgspec.DecodeError, msgspec.ValidationError) as error:
            raise self._fault(error) from error

    @property
    def is_replaced(self) -> bool:
        """Whether the file was removed since it was opened, or another one is in its place."""
        return _identity(self.path) != self._file

    def close(self) -> None:
        """Let go of the file; the last to do so moves the write-ahead log into it."""
        self.rows.close()

    def _fault(self, error: Exception) -> StoreError:
        """What an error means to a person; damage is never reported as absence (invariant 5)."""
        if isinstance(error, sqlite.NewerSchemaError):
            return StoreError(
                f"{self.path} was written by a newer Hermes ({error}); update Hermes to open it."
            )
        told = sqlite3.OperationalError | sqlite3.ProgrammingError | sqlite3.IntegrityError
        if isinstance(error, told) and not sqlite.is_incomplete(error):
            return unusable(self.path, error)
        return StorageDamaged(f"{self.path} is damaged ({error}): {self._mending}")


def _identity(path: Path) -> tuple[int, int]:
    """Which file it is; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
