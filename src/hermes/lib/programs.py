"""Find the programs that Hermes starts for itself: never one that a project could have brought along."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path


def search_path(environ: Mapping[str, str], away_from: Iterable[Path]) -> str:
    """The folders of PATH that may be searched, as PATH has them.

    A relative folder, one that everybody may write, and one below `away_from` are left out: a project that
    is worked on, or a command in it, could have put a program there.
    """
    roots = _roots(away_from)
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if _is_fit(folder, roots))


def find_program(name: str, environ: Mapping[str, str], away_from: Iterable[Path]) -> str | None:
    """The absolute path of a program found by PATH and outside of `away_from`, links followed; None without
    one.
    """
    away_from = tuple(away_from)
    roots = _roots(away_from)
    for folder in search_path(environ, away_from).split(os.pathsep):
        path = Path(folder, name)
        if folder and path.is_file() and os.access(path, os.X_OK) and not _is_below(path.resolve(), roots):
            return str(path)
    return None


def _roots(away_from: Iterable[Path]) -> tuple[Path, ...]:
    """The folders with links followed, but for the root of the machine: no program would be left."""
    return tuple(root for root in (folder.resolve() for folder in away_from) if root != Path("/"))


def _is_fit(folder: str, roots: tuple[Path, ...]) -> bool:
    if not os.path.isabs(folder) or _is_below(Path(folder).resolve(), roots):  # noqa: PTH117  # "" is not "."
        return False
    try:
        return not Path(folder).stat().st_mode & stat.S_IWOTH
    except OSError:
        return False


def _is_below(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
