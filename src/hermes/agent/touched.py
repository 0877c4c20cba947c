"""What an action would delete or write over on this machine, for the person who is asked."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import Final

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.visible import one_line
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.file_findings import emptied
from hermes.safety.commands.options import operands
from hermes.safety.commands.paths import absolute, is_within
from hermes.safety.commands.rules import file_uses
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess
from hermes.types.question import Touched, TouchedHow

_ENTRIES: Final = 5_000
"""How many files and folders are looked at before a person is asked: 50 ms."""
_NAMED: Final = 200
_PATTERNS: Final = 3
"""Parts of a path that may be patterns."""
_SECONDS: Final = 0.5

Use = tuple[TouchedHow, str]


class _Room(Struct):
    """What may still be looked at, and named."""

    entries: int = _ENTRIES
    names: int = _NAMED


async def touched(action: Action, verdict: Verdict, policy: Policy) -> tuple[Touched, ...]:
    """What is there of what an action names to be deleted or written over; with one that has no path, where a
    part of the names is only known when it runs. A command may touch more than it names.
    """
    cwd = action.cwd if isinstance(action, Command) else policy.workspace
    uses = [use for use in _uses(action, verdict) if not _is_elsewhere(use[1], verdict, policy)]
    look = partial(_touched, uses, f"{cwd.rstrip('/')}/")
    with anyio.move_on_after(_SECONDS):
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    return ()


def _is_elsewhere(path: str, verdict: Verdict, policy: Policy) -> bool:
    """Whether a path is another one to a confined command, whose folders for temporary files are its own."""
    is_temporary = any(is_within(path, folder) for folder in policy.temp)
    return verdict.access.confined and is_temporary and not is_within(path, policy.workspace)


def _uses(action: Action, verdict: Verdict) -> Iterator[Use]:
    if isinstance(action, FileAccess) and action.operation != "read":
        yield "deletes" if action.operation == "delete" else "changes", action.path
    for command in verdict.commands:
        for how, path in _uses_of(command):
            yield how, absolute(path, command.cwd)


def _uses_of(command: Simple) -> Iterator[Use]:
    for does, path in file_uses(command):
        if does == "delete":
            yield "deletes", path
        elif does == "write":
            yield from _put(command, path)
    if command.program == "find":
        yield from (("deletes", path) for path in emptied(command))
    if command.program == "mv" and (words := operands(command.argv[1:])):
        yield from _put(command, words[-1])
    yield from (("changes", path) for path in command.writes)


def _put(command: Simple, path: str) -> Iterator[Use]:
    """A file that is written, and those of the same names in a folder that others are put into."""
    yield "changes", path
    for word in operands(command.argv[1:])[:-1]:
        yield "changes", f"{path.rstrip('/')}/{word.rstrip('/').rpartition('/')[2]}"


def _touched(uses: Iterable[Use], top: str) -> tuple[Touched, ...]:
    """What is there, by its path from `top` where it is below that."""
    room, found = _Room(), dict[Use, Touched]()
    for how, path in uses:
        matching = () if _is_untold(path) else _matching(path, room)
        for one in matching:
            if (how, one) not in found and (there := _measured(how, one, room)) is not None:
                found[how, one] = replace(there, path=one_line(there.path.removeprefix(top)))
        if _is_untold(path) or ("/**/" in path and room.entries <= 0):
            found[how, ""] = Touched(how=how)
    return tuple(found.values())


def _is_untold(path: str) -> bool:
    """Whether nobody can say in time what a path stands for: a part of it is only known when it runs, or the
    folders that fit multiply.
    """
    return UNKNOWN in path or sum(glob.has_magic(part) for part in path.split("/")) > _PATTERNS


def _matching(path: str, room: _Room) -> Iterable[str]:
    """The paths that a pattern of a shell or of `find` stands for, as far as there is room."""
    if os.path.lexists(path) or not glob.has_magic(path):
        return (path,)
    top, deep, name = path.partition("/**/")
    if not deep:
        return sorted(islice(glob.iglob(path), room.names))  # noqa: PTH207  # the pattern is absolute
    below = (one for one, _ in _entries(top, room) if fnmatchcase(one.rpartition("/")[2], name))
    return sorted(islice(below, room.names))


def _measured(how: TouchedHow, path: str, room: _Room) -> Touched | None:
    """What is at a path; None where nothing is, or a folder that is not deleted."""
    with suppress(OSError, ValueError):
        info = os.lstat(path)
        if not stat.S_ISDIR(info.st_mode):
            return Touched(how=how, path=path, files=1, size=info.st_size)
        if how == "deletes":
            return _folder(path, room)
    return None


def _folder(path: str, room: _Room) -> Touched:
    files = size = 0
    names: list[str] = []
    for one, info in _entries(path, room):
        if not stat.S_ISDIR(info.st_mode):
            files, size = files + 1, size + info.st_size
            if room.names > 0:
                room.names -= 1
                names.append(one_line(os.path.relpath(one, path)))
    return Touched(
        how="deletes", path=f"{path}/", files=files, size=size, more=room.entries <= 0, names=tuple(names)
    )


def _entries(folder: str, room: _Room) -> Iterator[tuple[str, os.stat_result]]:
    """What is below a folder, no link followed, until there is no more room."""
    folders = [folder]
    while folders and room.entries > 0:
        with suppress(OSError), os.scandir(folders.pop()) as found:
            for one in islice(found, room.entries):
                room.entries -= 1
                with suppress(OSError):
                    info = one.stat(follow_symlinks=False)
                    if stat.S_ISDIR(info.st_mode):
                        folders.append(one.path)
                    yield one.path, info
