"""Which processes a command signals: some by number, or every one that there is."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.listings import ALL_PROCESSES, fits_any_name
from hermes.safety.commands.options import before_dashes, has_option, operands
from hermes.safety.commands.rules import Finding
from hermes.safety.commands.script import Simple

_OWN_JOBS: Final = re.compile(r"\$!|\$\(jobs -[a-z]*p[a-z]*\)")
_SIGNAL: Final = re.compile(r"-(?:\d+|[A-Z][A-Z0-9+-]*|[sn]\w+)|--signal=\w+", re.IGNORECASE)
_ASKS: Final = re.compile(r"^(?:-0|-l|-L|--list|--table|-[sn] 0|-s0|--signal[= ]0)(?:[ =]|$)")
_BY_NAME: Final = frozenset({"pkill", "killall", "skill", "snice"})
_VALUES: Final = frozenset(
    {"-s", "--signal", "-u", "-U", "-G", "-t", "-P", "-g", "-F", "-n", "-c", "-p", "--euid", "--uid"}
    | {"--group", "--terminal", "--parent", "--pgroup", "--user", "--pidfile", "--ns", "-y", "-o"}
)
_USERS: Final = ("-u", "-U", "-G", "--euid", "--uid", "--group", "--user")
_EVERYTHING: Final = Finding("kill-everything", "halt", "it stops every process of a user or of the machine")


def signalled(command: Simple) -> Iterator[Finding]:
    """What is found in a command that stops processes."""
    words = command.argv[1:]
    if command.program in _BY_NAME and _fits_all(command.program, words):
        yield _EVERYTHING
    if command.program != "kill" or _ASKS.search(" ".join(words[:2])):
        return
    targets = _targets(words)
    if any(word == ALL_PROCESSES or "*" in word or "[" in word for word in targets):
        yield _EVERYTHING
    elif all(word == UNKNOWN for word in targets) and _are_own_jobs(command):
        return
    elif any(not word.startswith("%") for word in targets):
        yield Finding("kill", "process", "it stops processes by number")


def _targets(words: Sequence[str]) -> Sequence[str]:
    """The words of `kill` behind the signal."""
    if words[:1] and words[0] in {"-s", "-n", "--signal"}:
        words = words[2:]
    elif words[:1] and len(words) > 1 and _SIGNAL.fullmatch(words[0]):
        words = words[1:]
    return words[1:] if words[:1] == ("--",) else words


def _fits_all(program: str, words: Sequence[str]) -> bool:
    """Whether what chooses processes by name chooses all of a user's, or all that there are."""
    if has_option(words, "-0", "-l", "--list", "-V", "--version", "--help"):
        return False
    patterns = [word for word in operands(words, _VALUES) if not _SIGNAL.fullmatch(word)]
    if not patterns or program == "skill":
        return has_option(words, *_USERS)
    if program == "killall" and not has_option(before_dashes(words), "-r", "--regexp"):
        return False
    return has_option(words, "-v", "--inverse") or any(map(fits_any_name, patterns))


def _are_own_jobs(command: Simple) -> bool:
    """Whether all that a command stops was started beside it."""
    variables = re.findall(r"\$(?:\{?(\w+)|(\([^)]*\)|[!?$@*-]|`))", command.line)
    texts = [command.scope.made.get(name, "") if name else f"${other}" for name, other in variables]
    return bool(texts) and all(_OWN_JOBS.fullmatch(text.strip('"')) for text in texts)
