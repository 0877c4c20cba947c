"""Whether sessions can be kept in a home, told without writing there."""

import os
from collections.abc import Iterator
from typing import Final

from hermes.config.home import Home
from hermes.lib.free_room import free_bytes

ROOM: Final = 16 << 20
"""Bytes below which a disk is as good as full: a session with a long result may take as much."""


def what_hinders(home: Home) -> Iterator[str]:
    """A sentence for each thing that keeps sessions from being stored, with what is to be done."""
    parents = (home.root, *home.root.parents)
    folder = next(one for one in parents if os.path.exists(one))  # noqa: PTH110  # the other raises
    if not os.access(folder, os.W_OK | os.X_OK):
        yield (
            f"home: {folder} cannot be written, so no session can be kept; chmod u+rwx {folder} mends that,"
            " or set HERMES_HOME to a folder of yours"
        )
    file = home.sessions_db
    if os.access(file, os.R_OK) and not os.access(file, os.W_OK):
        yield f"sessions: {file} cannot be written, so no session can go on; chmod u+rw {file} mends that"
    left = free_bytes(home.root)
    if left < ROOM:
        yield (
            f"disk: {left / 1e6:.1f} MB are left for {folder}, too little to keep sessions; make room there,"
            " or set HERMES_HOME to a folder on another disk"
        )
