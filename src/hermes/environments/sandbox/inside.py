"""What a running sandbox shows: looked at from outside, before a command is let into it."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hermes.environments.sandbox.mounts import Mount

_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")
_PLACE, _OPTIONS = 4, 5  # columns of the kernel's table of mounts


def can_look() -> bool:
    """Whether this kernel tells which processes are inside."""
    return _children(os.getpid()).exists()  # noqa: TID251  # any process would do


def machine_mounts() -> bytes:
    """The mounts of this machine, as the kernel lists them; what is mounted later shows inside, too."""
    return Path("/proc/self/mountinfo").read_bytes()


def shows(leader: int, mounts: Iterable[Mount]) -> bool:
    """Whether each of these mounts lies in its place in the sandbox whose outermost process is `leader`, and
    has there what its source is now; OSError when the sandbox has ended.

    A mount is gone when the name that it lies on was deleted, and moves with a folder that is renamed.
    """
    process = _inner(_inner(leader))
    table = mount_points(Path(f"/proc/{process}/mountinfo").read_bytes())
    uppermost = {mount.path: mount for mount in mounts}.values()
    root = os.open(f"/proc/{process}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return all(_lies(mount, table, root) for mount in uppermost)
    finally:
        os.close(root)


def mount_points(table: bytes) -> dict[str, tuple[str, ...]]:
    """The options of the uppermost mount at each place, by the kernel's table."""
    rows = (line.split(b" ", _OPTIONS + 1) for line in table.splitlines())
    return {_plain(row[_PLACE]): tuple(row[_OPTIONS].decode().split(",")) for row in rows}


def _lies(mount: Mount, table: dict[str, tuple[str, ...]], root: int) -> bool:
    options = table.get(mount.path)
    if options is None or (mount.kind in {"read", "show"} and "ro" not in options):
        return False
    if mount.kind in {"hide", "shut", "pass"}:
        return True
    shown = os.stat(mount.path.lstrip("/"), dir_fd=root, follow_symlinks=False)
    return os.path.samestat(shown, os.lstat(mount.source))


def _inner(process: int) -> int:
    """The first process that another one has started."""
    found = _children(process).read_bytes().split()
    if not found:
        raise ProcessLookupError(f"nothing runs in process {process}")
    return int(found[0])


def _children(process: int) -> Path:
    return Path(f"/proc/{process}/task/{process}/children")


def _plain(place: bytes) -> str:
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), place))
