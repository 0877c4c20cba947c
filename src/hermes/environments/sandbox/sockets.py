"""The sockets with a name on this machine: a read-only file system does not keep anybody from connecting to
them.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.environments.sandbox.linked_sockets import LinkedSockets
from hermes.environments.sandbox.mount_table import SeenTwice
from hermes.environments.sandbox.moved_sockets import MovedSockets
from hermes.lib.sock_diag import file_of, named_sockets

_PATH_COLUMN: Final = 7


def listening(*, outside: tuple[str, ...]) -> Iterator[str]:
    """The paths of this machine's sockets that are there and can be reached, without those in the folders
    `outside`; also of servers in other network namespaces, for a file system knows none.
    """
    covered = tuple(f"{folder}/" for folder in outside)
    _TWICE.look()
    for path in (*_of_ours(covered), *_of_others(covered)):
        for name in (path, *_other_names(path)):
            if not name.startswith(covered):
                yield os.path.realpath(name)


def _other_names(path: str) -> Iterator[str]:
    """Those by which a socket can be reached besides: other mounts of its folder, hard links, and both."""
    links = _LINKED.others(path)
    yield from links
    for one in (path, *links):
        yield from filter(file_of, _TWICE.others(one))


def _of_ours(covered: tuple[str, ...]) -> Iterator[str]:
    """Those of our network namespace: by name where the file of that name is the socket's own, and by their
    file where they were renamed, or were bound by a name that means another place here.
    """
    try:
        sockets = named_sockets()
    except OSError:  # a kernel that was built without it
        yield from _in_table("/proc/net/unix")
        return
    lost = []
    for one in sockets:
        if one.name.startswith(covered):
            yield one.name
            continue
        found = file_of(one.name) if one.name.startswith("/") else 0
        if found:
            yield one.name
        if found != one.inode:
            lost.append(one)
    yield from _MOVED.places(lost)


def _of_others(covered: tuple[str, ...]) -> Iterator[str]:
    """Those of the network namespaces in which a process runs that the user may look at."""
    for process in _ELSEWHERE.look():
        for path in _in_table(f"/proc/{process}/net/unix"):
            if file_of(path):
                yield path
            elif not path.startswith(covered):
                yield from _MOVED.bound_by(process, path)


def _in_table(table: str) -> Iterator[str]:
    with suppress(OSError):  # not Linux, no /proc, or a process that has ended
        yield from named(Path(table).read_text(errors="surrogateescape"))


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
_MOVED: Final = MovedSockets()
_LINKED: Final = LinkedSockets()
_TWICE: Final = SeenTwice()


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
