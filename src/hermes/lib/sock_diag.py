"""Ask the kernel for the sockets of this network namespace that have a name in the file system."""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY: Final = 20
_DUMP: Final = 0x301  # a request for all
_ERROR, _DONE = 2, 3
_NAME, _FILE = 0, 1  # what is told of each, and the bits to ask for it
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = struct.Struct("=BBHIIIII")
_FOUND: Final = struct.Struct("=BBBBIII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_ALL: Final = 0xFFFFFFFF
_CONNECTED: Final = 1
_BUFFER: Final = 1 << 17


class NamedSocket(Struct, frozen=True):
    """A socket that others can connect to: its number, the name that it was bound by, and the number of the
    file that stands for it.
    """

    number: int
    name: str
    inode: int


def named_sockets() -> list[NamedSocket]:
    """Those with a name in the file system, whatever has become of it; OSError where the kernel does not
    tell.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as link:
        wanted = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL, 0, 1 << _NAME | 1 << _FILE, _ALL, _ALL)
        link.send(_HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _DUMP, 1, 0) + wanted)
        found = {one.inode: one for told in _messages(link) if (one := _named(told))}
    return list(found.values())


def _messages(link: socket.socket) -> Iterator[bytes]:
    while True:
        data = link.recv(_BUFFER)
        at = 0
        while at < len(data):
            length, kind, *_ = _HEADER.unpack_from(data, at)
            told = data[at + _HEADER.size : at + length]
            if kind == _DONE:
                return
            if kind == _ERROR:
                code = -struct.unpack_from("=i", told)[0]
                raise OSError(code, os.strerror(code))
            yield told
            at += _aligned(length)


def _named(told: bytes) -> NamedSocket | None:
    """The socket of a message, unless it is the server's end of a connection, or has no such name."""
    _, kind, state, _, number, _, _ = _FOUND.unpack_from(told)
    if state == _CONNECTED and kind != socket.SOCK_DGRAM:
        return None
    parts = dict(_attributes(told))
    name, file = parts.get(_NAME, b"").rstrip(b"\0"), parts.get(_FILE)
    if not name or name.startswith(b"\0") or file is None:
        return None
    return NamedSocket(number, os.fsdecode(name), struct.unpack_from("=I", file)[0])


def _attributes(told: bytes) -> Iterator[tuple[int, bytes]]:
    at = _FOUND.size
    while at < len(told):
        length, kind = _ATTRIBUTE.unpack_from(told, at)
        yield kind, told[at + _ATTRIBUTE.size : at + length]
        at += _aligned(length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def file_of(path: str) -> int:
    """The number of the file at a path if that is a socket, else 0."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_ino if stat.S_ISSOCK(found.st_mode) else 0
