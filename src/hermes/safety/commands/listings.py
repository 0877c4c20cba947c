"""What find, ls, ps and pgrep list, as far as their words tell: a pattern that stands for all of it."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

from hermes.safety.commands.options import has_option, operands

ALL_PROCESSES: Final = "-1"
"""Stands for the numbers of all processes, as it does for `kill`."""

_ANYTHING: Final = frozenset("*?[")
_KEEPS_ALL: Final = frozenset(
    {"-delete", "-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-exec", "-execdir", "-type"}
    | {"-mindepth", "-maxdepth", "-follow", "-noleaf", "-L", "-H", "-P", "-o", "-or", "-a", "-and"}
)
_ACTIONS: Final = ("-exec", "-execdir", "-ok", "-okdir")
_NAMES: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename"})
_CHOOSE: Final = ("-p", "-C", "-q", "-t", "-s", "--pid", "--ppid", "--quick-pid")
_PRINTS_COLUMN: Final = re.compile(r"\s*(?:NR\s*>\s*\d+\s*)?\{\s*print\b[^{}]*\}\s*")
_UNALIKE: Final = ("systemd", "bash", "python3", "Xorg")


def searched(words: Sequence[str]) -> list[str]:
    """The folders that `find` looks into."""
    behind = itertools.dropwhile({"-H", "-L", "-P"}.__contains__, words)
    return list(itertools.takewhile(lambda word: not word.startswith(("-", "(", "!")), behind)) or ["."]


def narrows(words: Sequence[str]) -> bool:
    """Whether `find` passes over files below its folders."""
    end = min((words.index(word) for word in _ACTIONS if word in words), default=len(words))
    pairs = itertools.pairwise([*words[:end], ""])
    return any(
        word.startswith(("-", "!")) and word not in _KEEPS_ALL and not (word in _NAMES and value == "*")
        for word, value in pairs
    )


def listed_names(words: Sequence[str]) -> list[str]:
    """What `ls` prints: the names in folders, and the files that it is given as they are."""
    given = operands(words, {"-I", "--ignore", "-w", "--width"})
    if has_option(words, "-d", "--directory"):
        return given
    return [word for word in given if "/" in word and not _ANYTHING.isdisjoint(word)] or ["*"]


def lists_all_processes(words: Sequence[str]) -> bool:
    """Whether `ps` lists the processes of a user or of the machine, none of them chosen."""
    wide = has_option(words, "-e", "-A", "-a", "-u", "-U") or any(
        re.fullmatch(r"\w*[ax]\w*", word) for word in words
    )
    return wide and not has_option(words, *_CHOOSE)


def keeps_all(program: str, words: Sequence[str]) -> bool:
    """Whether a filter lets every line of a list through, in its words or a part of them."""
    if program in {"awk", "gawk", "mawk"}:
        return any(map(_PRINTS_COLUMN.fullmatch, words))
    if program == "tail":
        return any(re.fullmatch(r"(?:-n)?\+\d+", word) for word in words)
    return program in {"sort", "uniq", "tr", "cut"}


def fits_any_name(pattern: str) -> bool:
    """Whether a regular expression fits names that have nothing in common."""
    try:
        return all(re.search(pattern, name) for name in _UNALIKE)
    except re.error:
        return False
