"""Which files a command runs: those that a yes to it is bound to, and whether it may run others."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.dataflow import INTERPRETERS, builds, run_by, script_of
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.findings import read_command
from hermes.safety.commands.local_programs import is_plain
from hermes.safety.commands.options import has_option
from hermes.safety.commands.paths import Map, absolute, place_of
from hermes.safety.commands.script import Simple, program_name
from hermes.types.action import Command

_SHELL_OWN: Final = frozenset({".", "source"})
_OTHER_REPOSITORY: Final = ("-C", "--git-dir", "--work-tree")


def named_paths(action: Command, folders: Map) -> tuple[str, ...]:
    """The absolute paths, and patterns, that the words of a command may name with their quotes undone and
    their variables filled in, but for programs that run nothing of what they find; none where it cannot be
    read, for then it does not run.
    """
    try:
        return _paths(action.command, action.cwd, action.carried, folders)
    except Exception:  # noqa: BLE001  # the decision tells of it, and refuses
        return ()


@lru_cache(maxsize=64)
def _paths(command: str, cwd: str, carried: str, folders: Map) -> tuple[str, ...]:
    reading = read_command(command, cwd=cwd, folders=folders, before=carried)
    found = (absolute(word, one.cwd) for one in reading.commands for word in _words(one) if word)
    return tuple(dict.fromkeys(path for path in found if UNKNOWN not in path))


def _words(command: Simple) -> Iterator[str]:
    yield from command.reads
    for _, value in command.assignments:
        yield from value.split(":")  # folders where programs are looked for
    if not is_plain(command):
        yield from command.argv
        yield from (word.partition("=")[2] for word in command.argv if word.startswith("-"))


def runs_unbound(commands: Sequence[Simple], action: Command, folders: Map) -> str:
    """The program that may run files to which a yes to an action is not bound: a script loads others of its
    folder, a test runner looks for them. "" where there is none.
    """
    return next((one.program for one in commands if _is_unbound(one, action, folders)), "")


def _is_unbound(command: Simple, action: Command, folders: Map) -> bool:
    if is_plain(command):
        return False
    if command.program == "git":  # its hooks and settings are the user's own, what they run may be anybody's
        return action.steered or command.cwd != action.cwd or has_option(command.argv[1:], *_OTHER_REPOSITORY)
    if script := _interpreted(command, action):
        return place_of(script, command.cwd, folders) != "system"
    named = run_by(command)
    if UNKNOWN in "".join((*command.argv[:1], *named, command.cwd)) or (named and not action.content):
        return True
    return not named and builds(command)


def _interpreted(command: Simple, action: Command) -> str:
    """What a program other than a shell runs, which may load more from where it lies: the script of one that
    is named, or a program whose file says in its first line that one runs it. "" where no such runs.
    """
    if INTERPRETERS.fullmatch(command.program) and command.program not in _SHELL_OWN:
        return script_of(command) or "."
    program = "".join(command.argv[:1])
    name = program.rpartition("/")[2]
    runners = (runner for path, runner in action.runners if fnmatchcase(path.rpartition("/")[2], name))
    return program if any(program_name(one) not in SHELLS for one in runners) else ""


def is_bound(command: Simple, commands: Sequence[Simple], action: Command) -> bool:
    """Whether all that a command of an action runs is a file that its words name, or another of the commands
    around which it stands.
    """
    if _interpreted(command, action):
        return False
    return bool(run_by(command)) or any(command.program in one.through for one in commands)
