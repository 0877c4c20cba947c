"""A store to be looked at: nothing beside it or in it is changed, whatever state it is in."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from hermes.lib.sqlite import at_rest, is_incomplete
from hermes.store.presence import is_open
from hermes.store.unusable import unusable
from hermes.types.error import StorageDamaged


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """An open connection that can only read; what is in the write-ahead log is seen too.

    StoreError where the file cannot be read, StorageDamaged where it is damaged.
    """
    with faults_of(path):
        if is_open(path):  # then the files beside it are there, and others see to them
            with _opened(path, "mode=ro") as connection:
                yield connection
        elif _is_there(_log(path)):
            # A process died: to look at its log SQLite would bring it into the file
            with tempfile.TemporaryDirectory(prefix="hermes-store-") as folder:
                copy = Path(folder, path.name)
                shutil.copyfile(path, copy)
                shutil.copyfile(_log(path), _log(copy))
                with _opened(copy, "mode=rw") as connection:
                    yield connection
        else:
            with at_rest(path) as connection:
                yield connection


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Turn the system's and the database's errors into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and not is_incomplete(error):
            raise unusable(path, error) from error
        raise StorageDamaged(f"{path} is damaged ({error}).") from error
    except OSError as error:
        raise unusable(path, error) from error


@contextmanager
def _opened(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True)) as connection:
        yield connection


def _is_there(log: Path) -> bool:
    return log.exists() and log.stat().st_size > 0


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
