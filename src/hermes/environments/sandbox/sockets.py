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
    for process in _ELSEWHERE.look():
        yield Path("/proc", process, "net", "unix")


class _Namespaces:
    """The network namespaces besides our own. A process that was in one at two looks is taken to stay there:
    each command waits for a look, and asking all processes anew takes a millisecond.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[str, bool]] = {}

    def look(self) -> list[str]:
        """One process of each."""
        with suppress(OSError), os.scandir("/proc") as found:
            there = {(one.name, one.inode()): self._of(one) for one in found if one.name.isdigit()}
            self._known = there
        own = _namespace("self")
        elsewhere = {name: pid for (pid, _), (name, _) in self._known.items() if name not in {"", own}}
        return list(elsewhere.values())

    def _of(self, process: os.DirEntry[str]) -> tuple[str, bool]:
        name, settled = self._known.get((process.name, process.inode()), ("", False))
        if settled:
            return name, True
        now = _namespace(process.name)
        return now, now == name != ""


_ELSEWHERE: Final = _Namespaces()


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
