"""The user's allowlist as it stands in the file now: what is revoked there holds for sessions that run."""

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hermes.types.error import ConfigError

Stamp = tuple[int, int, int]


class Allowlist(Struct):
    """Reads it again when the file is another one than at `stamp`; `items` gives the entries of a file."""

    config_file: Path
    items: Callable[[Path], tuple[str, ...]]
    stamp: Stamp | None

    def changed(self) -> tuple[str, ...] | None:
        """The entries, if the file is another one than the last time; None else, or while it cannot be
        read.
        """
        now = stamp_of(self.config_file)
        if now == self.stamp:
            return None
        try:
            found = self.items(self.config_file)
        except (ConfigError, OSError):
            return None
        self.stamp = now
        return found


def stamp_of(config_file: Path) -> Stamp | None:
    """What tells one state of a file from another; None where there is none."""
    try:
        found = os.stat(config_file)  # noqa: PTH116  # each decision waits for this
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
