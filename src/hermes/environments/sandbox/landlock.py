"""Landlock around a confined job: rules of the kernel on files and sockets that hold beside the mounts.

A read-only mount lets a program write into pipes with a name and into devices; these rules do not. They
forbid mounting, too, so they are put on inside, after bubblewrap has mounted, by a program of a few lines in
Perl: nothing else that is everywhere starts as fast.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from hermes.environments.sandbox.egress import PERL

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

# Its words: the descriptors of the rules, of the command's words, of the signal that it begins and of the
# notice that all is complete, what may be done below a folder, and to a file. It runs without the job's
# variables, which could make it load other code, and takes them on at the end; when nobody is left to give
# the signal, it ends. What is open for writing may be written to.
_PROGRAM: Final = (
    "my ($rules, $words, $signal, $notice, $folder, $file) = map { $_ + 0 } @ARGV;"
    f" if ($folder) {{ for my $path ({', '.join(map(repr, _INSIDE))}) {{"
    ' open(my $at, "<", $path) or die "$path: $!\n";'
    ' syscall(445, $rules, 1, pack("Ql", $folder, fileno $at), 0) == 0 or die "$!\n" }'
    " for (grep { fcntl((*STDIN, *STDOUT, *STDERR)[$_], 3, 0) & 3 } 0 .. 2) {"
    ' syscall(445, $rules, 1, pack("Ql", $file, $_), 0) } }'
    ' syscall(446, $rules, 0) == 0 or die "landlock: $!\n";'
    ' open(my $gone, "<&=", $rules); close $gone;'
    ' open(my $in, "<&=", $words) or die "$!\n"; open(my $begun, "<&=", $signal) or die "$!\n";'
    ' open(my $done, ">&=", $notice) or die "$!\n"; syswrite($done, "x"); close $done;'
    " sysread($begun, my $byte, 1) or exit 1; close $begun;"
    " local $/; my ($variables, $command) = split /\\0\\0/, <$in>, 2; close $in;"
    " %ENV = map { split /=/, $_, 2 } split /\\0/, $variables;"
    " my @command = split /\\0/, $command, -1; pop @command;"
    ' exec { $command[0] } @command or do { print STDERR "$command[0]: $!\n"; exit 127 }'
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


def wrap(*, rules: int, words: int, signal: int, notice: int, files: bool) -> tuple[str, ...]:
    """The argv that puts the rules on, says so by `notice`, waits for a byte of `signal` and becomes what
    `words` (see `command_words`) say.
    """
    of_folder = _rights() if files else 0
    numbers = (rules, words, signal, notice, of_folder, of_folder & (1 << 1 | _TRUNCATING))
    return (PERL, "-e", _PROGRAM, *map(str, numbers))


def command_words(argv: Iterable[str], env: Mapping[str, str]) -> bytes:
    """A command and its variables, as the program that waits for them reads them; ValueError when there is a
    NUL character in them.
    """
    variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    words = [os.fsencode(word) for word in argv]
    if any(b"\0" in part for part in (*variables, *words)):
        raise ValueError("a command and its variables have no NUL characters")
    return b"\0".join(variables) + b"\0\0" + b"".join(word + b"\0" for word in words)


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
