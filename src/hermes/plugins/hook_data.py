"""Which files that a command of hooks names are its data: a yes to it is none to what they hold."""

import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.small_files import read_small
from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.dataflow import INTERPRETERS, run_by, script_of, upstream
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.local_programs import is_plain
from hermes.safety.commands.options import option_values
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.rules import file_uses
from hermes.safety.commands.script import Simple
from hermes.safety.commands.wrappers import see_through

_SCRIPT: Final = re.compile(r"\.(?:py|pyz|sh|bash|zsh|[cm]?[jt]s|rb|pl|php|lua|r|jl|tcl)", re.IGNORECASE)
_RULES: Final = ("-f", "--file", "--from-file")
"""Options that take what a program goes by."""


def data_of(command: str, cwd: Path, variables: Mapping[str, str]) -> frozenset[str]:
    """The absolute paths that a command line only reads as data or writes: operands of programs that run
    nothing of them, what a script is given and does not look like code, files of redirections. None where it
    cannot be told what it runs.
    """
    try:
        script = see_through(command, cwd=str(cwd), variables={"HOME": str(Path.home()), **variables})
    except Exception:  # noqa: BLE001  # a shell may read it all the same, and every file of it counts
        return frozenset()
    if script.faults or any(UNKNOWN in word for one in script.commands for word in _run(one)):
        return frozenset()
    given = (path for path in _paths(script.commands, _given) if not _looks_like_code(path))
    passive = {*given, *_paths(script.commands, _passive)}
    return frozenset(passive - {*_paths(script.commands, _active)})


def _paths(commands: Sequence[Simple], words: Callable[[Simple], Iterator[str]]) -> Iterator[str]:
    return (absolute(word, one.cwd) for one in commands for word in words(one) if word)


def _passive(command: Simple) -> Iterator[str]:
    """What a command writes, and the words of a program that runs nothing of them."""
    yield from command.writes
    yield from (path for does, path in file_uses(command) if does == "write")
    if is_plain(command):
        yield from (*command.argv[1:], *command.reads)


def _given(command: Simple) -> Iterator[str]:
    """What a script is given, which may run it."""
    if script := _script(command):
        yield from (word for word in command.argv[1:] if word != script)
        yield from command.reads


def _active(command: Simple) -> Iterator[str]:
    """What a command runs, or may run for all that is known."""
    yield from _run(command)
    if is_plain(command):
        yield from option_values(command.argv[1:], *_RULES)
    elif not _script(command):
        written = {path for does, path in file_uses(command) if does == "write"}
        yield from (word for word in (*command.argv[1:], *command.reads) if word not in written)
        yield from (word for one in upstream(command) for word in (*one.argv[1:], *one.reads))


def _script(command: Simple) -> str:
    """The script that a command runs by its path or by an interpreter; "" where it runs none."""
    if is_plain(command):
        return ""
    is_interpreter = command.program in SHELLS or INTERPRETERS.fullmatch(command.program)
    return script_of(command) if is_interpreter else "".join(run_by(command))


def _run(command: Simple) -> Iterator[str]:
    """The words that name what a command runs."""
    yield from command.argv[:1]
    yield _script(command)


def _looks_like_code(path: str) -> bool:
    """Whether a file may be run, or has the name of a script."""
    if _SCRIPT.fullmatch(Path(path).suffix):
        return True
    with suppress(OSError, ValueError):
        is_runnable = bool(Path(path).stat().st_mode & stat.S_IXUSR)
        return is_runnable or read_small(Path(path)).startswith(b"#!")
    return False
