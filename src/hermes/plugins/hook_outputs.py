"""Which files a command of hooks itself writes: a yes to it is none to what they hold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from hermes.safety.commands.dataflow import INTERPRETERS, run_by, script_of
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.local_programs import is_plain
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.rules import file_uses
from hermes.safety.commands.script import Simple
from hermes.safety.commands.wrappers import see_through


def outputs_of(command: str, cwd: Path, variables: Mapping[str, str]) -> frozenset[str]:
    """The absolute paths that a command line writes, and that nothing in it may run; none where it cannot be
    told what it runs.
    """
    try:
        script = see_through(command, cwd=str(cwd), variables={"HOME": str(Path.home()), **variables})
    except Exception:  # noqa: BLE001  # a shell may read it all the same, and every file of it counts
        return frozenset()
    runs = [word for one in script.commands for word in _run(one)]
    if script.faults or UNKNOWN in "".join(runs):
        return frozenset()
    return frozenset(_paths(script.commands, _written)) - frozenset(_paths(script.commands, _other))


def _paths(commands: Sequence[Simple], words: Callable[[Simple], Iterator[str]]) -> Iterator[str]:
    return (absolute(word, one.cwd) for one in commands for word in words(one) if word)


def _written(command: Simple) -> Iterator[str]:
    yield from command.writes
    yield from (path for does, path in file_uses(command) if does == "write")


def _other(command: Simple) -> Iterator[str]:
    """The words of a program that may run what they name, but for those that it writes."""
    if not is_plain(command):
        written = set(_written(command))
        yield from (word for word in (*command.argv, *command.reads) if word not in written)


def _run(command: Simple) -> Iterator[str]:
    """The words that name what a command runs."""
    yield from command.argv[:1]
    yield from run_by(command)
    if INTERPRETERS.fullmatch(command.program):
        yield script_of(command)
