"""Find sockets that are not where they were bound: renamed since, or bound by a relative name, or in another
mount namespace. A file system knows them by their inode alone.
"""

import ctypes
import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox.linked_sockets import links_near
from hermes.environments.sandbox.mount_table import mount_rows, places_of
from hermes.lib.beneath import held
from hermes.lib.sock_diag import NamedSocket, file_of

_AGAIN: Final = 64
_MOST: Final = 1_000
_PIDFD_GETFD: Final = 438
_SIOCUNIXFILE: Final = 0x89E0  # a descriptor of the file that a socket is bound to
_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")


class Holder(Struct, frozen=True):
    """A process that has a socket, and by which descriptor."""

    process: str
    descriptor: int


class MovedSockets:
    """The places of those that were looked for. A search asks every process that the user may look into, so
    it is made when there is a new one, and now and then for those that were not found, or found no more.
    """

    def __init__(self) -> None:
        self._known: dict[NamedSocket, tuple[str, ...]] = {}
        self._bound: dict[tuple[str, str], tuple[str, ...]] = {}
        self._looks = 0

    def places(self, lost: Iterable[NamedSocket]) -> list[str]:
        """The paths of those that are found, as this process sees them."""
        lost = tuple(lost)
        self._looks += 1
        if not all(map(self._is_known, lost)) or (lost and self._looks % _AGAIN == 0):
            self._known = _found(lost)
        return [path for one in lost for path in self._known[one] if file_of(path) == one.inode]

    def bound_by(self, process: str, name: str) -> list[str]:
        """The paths by which this process sees the socket that another one has bound by an absolute name."""
        if (process, name) not in self._bound:
            if len(self._bound) >= _MOST:
                self._bound.clear()
            self._bound[process, name] = ()
            with suppress(OSError, ValueError):
                self._bound[process, name] = tuple(_seen_here(process, name))
        return [path for path in self._bound[process, name] if file_of(path)]

    def _is_known(self, one: NamedSocket) -> bool:
        paths = self._known.get(one)
        return paths == () or (paths is not None and any(file_of(path) == one.inode for path in paths))


def _found(lost: tuple[NamedSocket, ...]) -> dict[NamedSocket, tuple[str, ...]]:
    holders = _holders({one.number for one in lost})
    return {one: tuple(dict.fromkeys(_places(one, holders.get(one.number)))) for one in lost}


def _holders(numbers: set[int]) -> dict[int, Holder]:
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc") if numbers else ()):  # noqa: PTH208  # words
        with suppress(OSError), os.scandir(f"/proc/{process}/fd") as descriptors:
            for entry in descriptors:
                with suppress(OSError):
                    held_one = _SOCKET.fullmatch(_link(entry.path))
                    if held_one and int(held_one[1]) in numbers:
                        found[int(held_one[1])] = Holder(process, int(entry.name))
    return found


def _places(one: NamedSocket, holder: Holder | None) -> Iterator[str]:
    """Where it is: where the kernel says, and in the folders where it may have been bound under any name."""
    folders = [one.name.rpartition("/")[0]] if one.name.startswith("/") else []
    left: os.stat_result | None = None
    if holder:
        with suppress(OSError), _bound_file(holder) as file:
            left = os.fstat(file)
        with suppress(OSError):
            for path in _seen_here(holder.process, _bound_to(holder)):
                if file_of(path) == one.inode:
                    yield path
        with suppress(OSError):
            start = _link(f"/proc/{holder.process}/{'root' if one.name.startswith('/') else 'cwd'}")
            bound = os.path.normpath(f"{start}/{one.name}")
            folders += [path.rpartition("/")[0] for path in _seen_here(holder.process, bound)]
    for folder in dict.fromkeys(folders):
        with suppress(OSError), os.scandir(folder) as found:
            yield from (entry.path for entry in found if entry.inode() == one.inode)
    if left and left.st_nlink and folders:  # by a hard link, where the name it was bound by is gone
        yield from links_near(folders[-1], left)


def _bound_to(holder: Holder) -> str:
    """Where the file of a socket is now, as its process sees it; OSError where the user may not ask that."""
    with _bound_file(holder) as file:
        return _link(f"/proc/self/fd/{file}")


@contextmanager
def _bound_file(holder: Holder) -> Iterator[int]:
    """The file of a socket, opened."""
    with (
        held(os.pidfd_open(int(holder.process))) as process,
        held(_checked(_kernel().syscall(_PIDFD_GETFD, process, holder.descriptor, 0))) as copy,
        held(fcntl.ioctl(copy, _SIOCUNIXFILE)) as file,
    ):
        yield file


def _seen_here(process: str, path: str) -> list[str]:
    """The paths by which this process sees what another one has at a path: the same in the same namespace."""
    if _link(f"/proc/{process}/ns/mnt") == _link("/proc/self/ns/mnt"):
        return [path]
    return list(places_of(path, mount_rows(process), mount_rows("self")))


def _link(path: str) -> str:
    return os.readlink(path)  # noqa: PTH115  # words: a search asks thousands


def _checked(found: int) -> int:
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


@cache
def _kernel() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
