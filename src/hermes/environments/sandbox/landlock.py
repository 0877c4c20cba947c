"""Landlock around a confined job: rules of the kernel on files and sockets that hold beside the mounts.

A read-only mount lets a program write into pipes with a name and into devices; these rules do not. They
forbid mounting, too, so they are put on inside, after bubblewrap has mounted, by a program of a few lines in
Perl: nothing else that is everywhere starts as fast.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from hermes.environments.sandbox.egress_relay import PERL

_CREATE, _ADD, _VERSION = 444, 445, 1
_OLDEST: Final = 2  # the first whose rules allow a file to be moved from one folder to another
_WRITING: Final = 0b0001_1111_1111_0010  # write, remove and make, of every kind
_MOVING, _TRUNCATING = 1 << 13, 1 << 14
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_SCOPES_SINCE, _TRUNCATING_SINCE = 6, 3
_INSIDE: Final = (
    "/dev",
    "/proc",
    "/run",
)  # made anew for each job, so that their rules cannot be made before

# Its words: the descriptors of the rules, of the variables and of the signal that the command begins, what
# may be done below a folder, and to a file; then the command. It runs without the job's variables, which
# could make it load other code, and takes them on at the end. What is open for writing may be written to.
_PROGRAM: Final = (
    "my ($rules, $variables, $signal, $folder, $file) = map { $_ + 0 } splice @ARGV, 0, 5;"
    f" if ($folder) {{ for my $path ({', '.join(map(repr, _INSIDE))}) {{"
    ' open(my $at, "<", $path) or die "$path: $!\n";'
    ' syscall(445, $rules, 1, pack("Ql", $folder, fileno $at), 0) == 0 or die "$!\n" }'
    " for (grep { fcntl((*STDIN, *STDOUT, *STDERR)[$_], 3, 0) & 3 } 0 .. 2) {"
    ' syscall(445, $rules, 1, pack("Ql", $file, $_), 0) } }'
    ' syscall(446, $rules, 0) == 0 or die "landlock: $!\n";'
    ' open(my $in, "<&=", $variables) or die "$!\n"; local $/;'
    " %ENV = map { split /=/, $_, 2 } split /\\0/, <$in>; close $in;"
    ' open(my $gone, "<&=", $rules); close $gone;'
    ' open(my $begun, "<&=", $signal); sysread($begun, my $byte, 1); close $begun;'
    ' exec { $ARGV[0] } @ARGV or do { print STDERR "$ARGV[0]: $!\n"; exit 127 }'
)


@cache
def version() -> int:
    """The version of Landlock in this kernel; 0 when it has none that is of use here."""
    if not hasattr(os, "memfd_create"):
        return 0
    found = int(_kernel().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION))
    return found if found >= _OLDEST else 0


def scopes() -> bool:
    """Whether it keeps programs from abstract sockets and processes outside."""
    return version() >= _SCOPES_SINCE


def launcher() -> bool:
    """Whether what puts the rules on is there."""
    return os.access(PERL, os.X_OK)


def wrap(argv: tuple[str, ...], *, rules: int, variables: int, signal: int, files: bool) -> tuple[str, ...]:
    """The argv that puts the rules on, takes the variables from a descriptor and a byte out of `signal`, and
    becomes `argv`.
    """
    of_folder = _rights() if files else 0
    return (
        PERL,
        "-e",
        _PROGRAM,
        str(rules),
        str(variables),
        str(signal),
        str(of_folder),
        str(of_folder & (1 << 1 | _TRUNCATING)),
        *argv,
    )


def make_rules(writable: Iterable[Path], *, files: bool) -> int:
    """A descriptor with the rules: nothing is written but below `writable` (if `files`), no abstract socket
    outside is met.
    """
    scoped = _ABSTRACT_SOCKETS | _SIGNALS if scopes() else 0
    wanted = struct.pack("=QQQ", _rights() if files else 0, 0, scoped)
    size = len(wanted) if scoped else 8  # an older kernel knows the first field alone
    rules = int(_kernel().syscall(_CREATE, wanted, ctypes.c_size_t(size), 0))
    if rules < 0:
        raise OSError(ctypes.get_errno(), "the kernel took no Landlock rules")
    for path in writable if files else ():
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            added = _kernel().syscall(_ADD, rules, 1, struct.pack("=Ql", _rights(), at), 0)
        finally:
            os.close(at)
        if added:
            os.close(rules)
            raise OSError(ctypes.get_errno(), f"no Landlock rule can be made for {path}")
    return rules


def _rights() -> int:
    return _WRITING | _MOVING | (_TRUNCATING if version() >= _TRUNCATING_SINCE else 0)


@cache
def _kernel() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
