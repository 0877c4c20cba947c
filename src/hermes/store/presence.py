"""Who has a store open: every process holds one file beside it together with the others, and whoever replaces
the store holds it alone.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes.lib import locks
from hermes.lib.files import make_private
from hermes.store.unusable import unusable
from hermes.types.error import StoreError


@contextmanager
def present(path: Path) -> Iterator[None]:
    """Have the store open; StoreError while it is being replaced, or nothing can be written beside it."""
    with _held(path, alone=False):
        yield


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Have the store for this process alone; StoreError while any other has it open."""
    with _held(path, alone=True):
        yield


def is_open(path: Path) -> bool:
    """Whether any process has the store open now."""
    return locks.is_shared(_file(path))


@contextmanager
def _held(path: Path, *, alone: bool) -> Iterator[None]:
    try:
        make_private(path.parent)
        handle = locks.take_alone(_file(path)) if alone else locks.share(_file(path))
    except OSError as error:
        raise unusable(path, error) from error
    if handle is None:
        raise StoreError(
            f"{path} is open in another process; close Hermes everywhere first."
            if alone
            else f"{path} is being restored or repaired by another process; try again when that is done."
        )
    try:
        yield
    finally:
        os.close(handle)


def _file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")
