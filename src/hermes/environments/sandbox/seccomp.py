"""The filter of kernel calls for confined commands: a program that the kernel runs before each call."""

import errno
import struct
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

# Instructions of the classic Berkeley packet filter, and what a program can answer.
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_IF_ANY_BIT: Final = 0x45
_ANSWER: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERROR: Final = 0x00050000

# Where a call's words lie: its number, its architecture, the lower half of its arguments (the kernel looks at
# no more of these).
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_FIRST, _SECOND, _THIRD = 16, 24, 32

_NAMESPACES: Final = 0x7E020000  # the flags of clone that make one
_NETLINK, _ROUTE = 16, 0
_FAMILIES: Final = (1, 2, 10)  # AF_UNIX (sockets with a name are covered by mounts), AF_INET, AF_INET6
_TERMINAL_INPUT: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing on behalf of the user
_PERSONALITIES: Final = (
    0x0,
    0x8,
    0x20000,
    0x20008,
    0x40000,
    0xFFFFFFFF,
)  # 32 bits, a fixed layout, a question


class SyscallTable(Struct, frozen=True, kw_only=True):
    """The numbers of an architecture: its name for the kernel, its calls, and whether a second set of numbers
    lies on top.
    """

    audit: int
    calls: Mapping[str, int]
    doubled: int = 0


_COMMON: Final = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}

# fmt: off
_X86_64: Final = SyscallTable(audit=0xC000003E, doubled=0x40000000, calls={
    **_COMMON, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "mount": 165,
    "umount2": 166,
    "pivot_root": 155, "chroot": 161, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179,
    "unshare": 272, "setns": 308,
    "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250,
    "kexec_load": 246, "kexec_file_load": 320,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "create_module": 174,
    "query_module": 178, "nfsservctl": 180,
    "userfaultfd": 323, "open_by_handle_at": 304, "lookup_dcookie": 212, "iopl": 172, "ioperm": 173,
    "syslog": 103, "_sysctl": 156,
    "uselib": 134, "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "sethostname": 170,
    "setdomainname": 171,
    "reboot": 169, "vhangup": 153, "fanotify_init": 300, "clone": 56, "socket": 41, "ioctl": 16,
    "personality": 135,
})
_AARCH64: Final = SyscallTable(audit=0xC00000B7, calls={
    **_COMMON, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "mount": 40,
    "umount2": 39,
    "pivot_root": 41, "chroot": 51, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60,
    "unshare": 97, "setns": 268,
    "bpf": 280, "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219,
    "kexec_load": 104, "kexec_file_load": 294,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "nfsservctl": 42,
    "userfaultfd": 282, "open_by_handle_at": 265, "lookup_dcookie": 18, "syslog": 116,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162,
    "reboot": 142, "vhangup": 58, "fanotify_init": 262, "clone": 220, "socket": 198, "ioctl": 29,
    "personality": 92,
})
# fmt: on

MACHINES: Final[Mapping[str, SyscallTable]] = {"x86_64": _X86_64, "aarch64": _AARCH64}
"""What is known, by the machine's name as `uname -m` gives it."""

_TRACING: Final = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "pidfd_getfd",
    "process_madvise",
)
_JUDGED: Final = ("clone", "clone3", "socket", "ioctl", "personality")  # by their arguments


class _Step(Struct, frozen=True):
    """One instruction; `no` says how many instructions to pass over when its condition does not hold, and
    `yes` when it does.
    """

    code: int
    value: int
    yes: int = 0
    no: int = 0

    def packed(self) -> bytes:
        return struct.pack("=HBBI", self.code, self.yes, self.no, self.value)


def program(machine: str, *, tracing: bool = False) -> bytes:
    """The filter for a machine, b"" for one that is not known; `tracing` lets debuggers work on the sandbox's
    own processes.
    """
    known = MACHINES.get(machine)
    if known is None:
        return b""
    return b"".join(step.packed() for step in _steps(known, _TRACING if tracing else ()))


def _steps(machine: SyscallTable, allowed: tuple[str, ...]) -> Iterator[_Step]:
    yield _Step(_LOAD, _ARCHITECTURE)
    yield _Step(_IF_EQUAL, machine.audit, yes=1)
    yield _Step(_ANSWER, _KILL)  # calls by the numbers of another architecture would not be understood here
    yield _Step(_LOAD, _NUMBER)
    if machine.doubled:
        yield from _unless(_Step(_IF_AT_LEAST, machine.doubled, no=1), errno.ENOSYS)
    for name, number in machine.calls.items():
        if name not in (*allowed, *_JUDGED):
            yield from _unless(_Step(_IF_EQUAL, number, no=1), errno.EPERM)
    # The C library falls back to clone, whose flags can be read here; those of clone3 lie in memory.
    yield from _unless(_Step(_IF_EQUAL, machine.calls["clone3"], no=1), errno.ENOSYS)
    yield from _judging(
        machine.calls["clone"], _FIRST, [*_unless(_Step(_IF_ANY_BIT, _NAMESPACES, no=1), errno.EPERM)]
    )
    yield from _judging(machine.calls["ioctl"], _SECOND, [*_none_of(_TERMINAL_INPUT)])
    yield from _judging(machine.calls["personality"], _FIRST, [*_only(_PERSONALITIES, errno.EPERM)])
    yield from _judging(machine.calls["socket"], _FIRST, [*_sockets()])
    yield _Step(_ANSWER, _ALLOW)


def _unless(condition: _Step, error: int) -> Iterator[_Step]:
    yield condition
    yield _Step(_ANSWER, _ERROR | error)


def _judging(number: int, argument: int, body: list[_Step]) -> Iterator[_Step]:
    """The body for one call, with one of its arguments loaded; whatever it lets pass is allowed."""
    yield _Step(_IF_EQUAL, number, no=len(body) + 2)
    yield _Step(_LOAD, argument)
    yield from body
    yield _Step(_ANSWER, _ALLOW)


def _none_of(values: tuple[int, ...]) -> Iterator[_Step]:
    for value in values:
        yield from _unless(_Step(_IF_EQUAL, value, no=1), errno.EPERM)


def _only(values: tuple[int, ...], error: int) -> Iterator[_Step]:
    for value in values:
        yield _Step(_IF_EQUAL, value, no=1)
        yield _Step(_ANSWER, _ALLOW)
    yield _Step(_ANSWER, _ERROR | error)


def _sockets() -> Iterator[_Step]:
    yield _Step(_IF_EQUAL, _NETLINK, no=4)
    yield _Step(_LOAD, _THIRD)
    yield _Step(_IF_EQUAL, _ROUTE, no=1)  # a list of network interfaces is asked for in this way
    yield _Step(_ANSWER, _ALLOW)
    yield _Step(_ANSWER, _ERROR | errno.EAFNOSUPPORT)
    yield from _only(_FAMILIES, errno.EAFNOSUPPORT)
