"""What one part of a command line brings from elsewhere or writes, and another part runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.exfiltration import DOWNLOADERS, is_remote
from hermes.safety.commands.options import CLONE_VALUES, operands
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.rules import table
from hermes.safety.commands.script import Simple

INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|perl|ruby|php|node|nodejs|deno|bun|lua|osascript|rscript|julia|tclsh)[\d.]*|source|\.|iex|cmd"
)
_PROGRAM_FOLDERS: Final = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[\w.+-]+")
_CLONERS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "git": (("clone",), ("submodule", "add")),
    "gh": (("repo", "clone"),),
    "glab": (("repo", "clone"),),
    "hub": (("clone",),),
    "hg": (("clone",),),
    "svn": (("checkout",), ("co",), ("export",)),
    "jj": (("git", "clone"),),
    "degit": ((),),
    "tiged": ((),),
}
_COPIERS: Final = frozenset({"scp", "sftp", "rsync", "rclone", "aws", "gsutil", "s3cmd", "mc"})
_OWN_VALUES: Final = frozenset({"-c", "-e", "-o", "-O", "-W", "-X"})
_FILTERS: Final = frozenset({"json.tool", "jq"})


def runs_fetched(commands: Sequence[Simple]) -> bool:
    """Whether a line brings files or text from elsewhere and runs something besides: it may be what was
    brought, under whichever name it is kept.
    """
    return any(map(_fetches, commands)) and any(map(_runs_files, commands))


def written_scripts(commands: Sequence[Simple]) -> Iterator[tuple[Simple, str]]:
    """Pairs of a command and the shell text that it runs from a file which the line itself writes, as far as
    that text is known.
    """
    texts: dict[str, str] = {}
    for command in commands:
        paths = [*command.writes, *(operands(command.argv[1:]) if command.program == "tee" else ())]
        text = command.input if command.program == "tee" else command.output
        if text is not None and not re.match(r"#!\S*/(?:env )?(?!\w*sh\b)", text):
            texts |= {absolute(path, command.cwd): text for path in paths}
    for command in commands:
        for word in run_by(command):
            if (text := texts.get(absolute(word, command.cwd))) is not None:
                yield command, text


def run_by(command: Simple) -> Sequence[str]:
    """The words that name the file which a shell, or a program by its path, runs."""
    if command.program in SHELLS or command.program in {".", "source"}:
        return [script] if (script := script_of(command)) else []
    return [word for word in command.argv[:1] if "/" in word]


def script_of(command: Simple) -> str:
    """The first operand of an interpreter or shell, which is the file that it runs; "" where it has none."""
    return next(iter(operands(command.argv[1:], _OWN_VALUES)), "")


def builds(command: Simple) -> bool:
    """Whether a program is one that runs what files of its folder tell: it builds, tests or installs."""
    return command.program in table().groups["builders"]


def upstream(command: Simple) -> Iterator[Simple]:
    """The commands whose output a command reads, near ones first."""
    for source in command.sources:
        yield source
        yield from upstream(source)


def _fetches(command: Simple) -> bool:
    if command.program in DOWNLOADERS:
        return is_remote(command)
    if command.program in _COPIERS:
        return True
    given = operands(command.argv[1:], CLONE_VALUES | {"-C", "-R", "--repo"})
    if command.program == "git" and given[:1] in (["fetch"], ["pull"]):
        return any("://" in word for word in given[1:])
    for words in _CLONERS.get(command.program, ()):
        if tuple(given[: len(words)]) == words:
            return command.program != "git" or _is_remote(given[len(words) :])
    return False


def _is_remote(given: Sequence[str]) -> bool:
    return bool(given) and re.search(r"^(?!file:)\w+://|@|^[\w.-]+:|\0", given[0]) is not None


def _runs_files(command: Simple) -> bool:
    """Whether a command runs something that lies in a folder, and is not only a program of the machine."""
    if _FILTERS & set(command.argv):
        return False
    if command.program in SHELLS or INTERPRETERS.fullmatch(command.program):
        return bool(script_of(command))
    own = (
        "/" in command.argv[0] and not _PROGRAM_FOLDERS.fullmatch(command.argv[0]) if command.argv else False
    )
    return own or builds(command)
