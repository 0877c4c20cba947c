"""Which paths are, or may be, this agent's own files: settings, keys, tools and sessions."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from hermes.safety.commands.expansion import UNKNOWN

_ANY: Final = "**"
_SETTINGS: Final = ("config.yaml", ".env", "auth.json")


def may_lie_in(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or below it, or may be: a pattern may be any name that it fits.

    `**` and `UNKNOWN` stand for any number of names; behind them the names of our settings count as ours.
    """
    if path.startswith(UNKNOWN):
        return is_telling(folder) and f"/{folder.rpartition('/')[2]}/" in f"{path}/"
    names = [_ANY if UNKNOWN in name else name for name in path.split("/")]
    return bool(folder) and _reaches(names, folder.split("/"))


def is_telling(folder: str) -> bool:
    """Whether the last name of a folder is one that nothing else has."""
    return folder.rpartition("/")[2].startswith(".")


def named_in(code: str, folders: Sequence[str]) -> bool:
    """Whether a piece of program text names one of the folders, as a whole or by a name that tells."""
    names = [folder for folder in folders if folder]
    names += [folder.rpartition("/")[2] for folder in names if is_telling(folder)]
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", code) for name in names)


def _reaches(names: Sequence[str], folder: Sequence[str]) -> bool:
    if not names or not folder:
        return not folder
    if names[0] == _ANY:
        rest = names[1:]
        return _is_settings(rest) or any(_reaches(rest, folder[at:]) for at in range(len(folder)))
    return _fits(folder[0], names[0]) and _reaches(names[1:], folder[1:])


def _is_settings(names: Sequence[str]) -> bool:
    pattern = names[-1] if names else ""
    return bool(pattern.strip("*?")) and any(fnmatchcase(name, pattern) for name in _SETTINGS)


def _fits(name: str, pattern: str) -> bool:
    """Whether a shell's pattern fits a name; a dot at its beginning has to be written."""
    hidden = name.startswith(".") and not pattern.startswith(".")
    return not hidden and fnmatchcase(name, pattern.replace("[^", "[!"))
