"""The files that find, grep and their like come upon, as far as a command's words tell."""

import itertools
from collections.abc import Sequence
from typing import Final

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.options import has_option, operands, option_values
from hermes.safety.commands.paths import is_disposable
from hermes.safety.commands.script import Simple

_ANYTHING: Final = frozenset("*?[")
_TAKES_ALL: Final = frozenset(
    {"-delete", "-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-exec", "-execdir"}
    | {"-mindepth", "-maxdepth", "-follow", "-noleaf", "-L", "-H", "-P"}
)


def listed_folders(source: Simple) -> list[str]:
    """The folders that a command lists files of; none where that is not known."""
    words = source.argv[1:]
    if source.program in {"grep", "egrep", "fgrep", "rg"} and has_option(
        words, "-l", "--files-with-matches", "-L", "--files"
    ):
        found = operands(
            words, {"-A", "-B", "-C", "-m", "-g", "--glob", "-t", "-T", "--include", "--exclude"}
        )
        return found[0 if has_option(words, "-e", "--regexp", "--files") else 1 :] or ["."]
    if source.program == "git" and (
        words[:1] == ("ls-files",) or (words[:1] == ("diff",) and "--name-only" in words)
    ):
        return ["."]
    if source.program == "find":
        return list(itertools.takewhile(lambda word: not word.startswith(("-", "(", "!")), words)) or ["."]
    return []


def listed_names(source: Simple) -> list[str]:
    """What `ls` prints: the names in folders, and the files that it is given as they are."""
    words = operands(source.argv[1:], {"-I", "--ignore", "-w", "--width"})
    if has_option(source.argv[1:], "-d", "--directory"):
        return words
    return [word for word in words if not _ANYTHING.isdisjoint(word)] or ["*"]


def found_paths(words: Sequence[str]) -> list[str]:
    """What the files that `find` comes upon are called: below its folders, and by their name where it asks
    for just one.
    """
    folders = list(itertools.takewhile(lambda word: not word.startswith(("-", "(", "!")), words[1:])) or ["."]
    names = option_values(words, "-name", "-iname")
    if len(names) == 1 and not {"-o", "-or", "!", "-not", ","} & set(words) and UNKNOWN not in names[0]:
        return [f"{folder.rstrip('/')}/**/{names[0]}" for folder in folders]
    end = min(
        (words.index(word) for word in ("-exec", "-execdir", "-ok", "-okdir") if word in words),
        default=len(words),
    )
    tests = {word for word in words[:end] if word.startswith("-")} - _TAKES_ALL
    below = [f"{folder.rstrip('/')}/{'*' if is_disposable(folder) else UNKNOWN}" for folder in folders]
    return below if tests else folders
