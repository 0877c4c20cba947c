"""The sockets with a name on this machine: a read-only file system does not keep anybody from connecting to
them.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TABLE: Final = Path("/proc/net/unix")
_PATH_COLUMN: Final = 7


def listening(*, outside: tuple[str, ...]) -> Iterator[str]:
    """The paths of this machine's sockets that are there and can be reached, without those in the folders
    `outside`; also of servers in other network namespaces, for a file system knows none.
    """
    for table in _tables():
        with suppress(OSError):  # not Linux, no /proc, or a process that has ended
            for path in named(table.read_text(errors="surrogateescape")):
                if not path.startswith(tuple(f"{folder}/" for folder in outside)) and _is_socket(path):
                    yield os.path.realpath(path)


def _tables() -> Iterator[Path]:
    """The table of each network namespace in which a process runs that the user may look at."""
    yield _TABLE
    seen = {_namespace("self")}
    with suppress(OSError):
        for process in os.listdir("/proc"):  # noqa: PTH208  # each command waits for this
            found = _namespace(process) if process.isdigit() else ""
            if found and found not in seen:
                seen.add(found)
                yield Path("/proc", process, "net", "unix")


def _namespace(process: str) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/{process}/ns/net")  # noqa: PTH115  # as above
    return ""


def named(table: str) -> Iterator[str]:
    """The absolute paths in the kernel's table of sockets, each once."""
    rows = (line.split(None, _PATH_COLUMN) for line in table.splitlines()[1:])
    yield from dict.fromkeys(
        row[_PATH_COLUMN] for row in rows if len(row) > _PATH_COLUMN and row[_PATH_COLUMN].startswith("/")
    )


def _is_socket(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    return False
