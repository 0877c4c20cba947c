"""Keep what a command planted from running later, outside: what is new, and would be run by git, a shell or a
login, is moved aside when the command has ended. What is there already is covered by mounts.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.beneath import FOLDER, READ_FILE, held, open_path
from hermes.environments.files import read_open
from hermes.environments.sandbox.git_folders import git_files, git_folders
from hermes.lib.repository import STEERING, plain_config

_ASIDE: Final = ".taken"
_LARGEST: Final = 1_000_000
_ACCESS_TAKES_LINKS: Final = os.access("/", os.F_OK, follow_symlinks=False)  # not every C library's does


class Watched(Struct, frozen=True, kw_only=True):
    """Where something planted would run: the repositories that lie in `tops`, and `starts`, files that a
    program of the user's runs by itself or trusts, as far as a command could make them. Absolute paths.
    """

    tops: tuple[str, ...]
    starts: tuple[str, ...] = ()

    def there(self) -> frozenset[str]:
        """All of it that is there now."""
        found = [*self.starts]
        for top in self.tops:
            folders = list(git_folders(top))
            found += [*_steering(top, folders), *(f"{folder}/hooks" for folder in folders)]
        return frozenset(filter(_exists, found))

    def take_planted(self, before: frozenset[str]) -> list[str]:
        """Move aside what was not there `before`, unless it is what git itself makes; a sentence for each."""
        new = [path for path in self.starts if path not in before and _exists(path)]
        told = [f"{path} would run something by itself, or be trusted; {_taken(path)}" for path in new]
        for path, top in self._in_git(before):
            kept = ""
            if os.path.basename(path) == "config":  # noqa: PTH119
                kept = plain_config(_text(path), os.path.dirname(path), top)  # noqa: PTH120
            told.append(f"{path} could make git run something; {_taken(path, kept)}")
        return told

    def _in_git(self, before: frozenset[str]) -> Iterator[tuple[str, str]]:
        for top in self.tops:
            folders = list(git_folders(top))
            for path in _steering(top, folders):
                # Nothing covers that of a worktree; hooks that were there are covered, as a folder
                covered = path in before and not path.endswith("/commondir")
                covered = covered or os.path.dirname(path) in before  # noqa: PTH120
                if os.path.lexists(path) and not covered and not _is_plain(path, top, folders):
                    yield path, top


def _exists(path: str) -> bool:
    """Whether there is something with that name, a link that leads nowhere included."""
    if _ACCESS_TAKES_LINKS:  # most are not there, and `lexists` would raise and catch an error for each
        return os.access(path, os.F_OK, follow_symlinks=False)
    return os.path.lexists(path)


def _steering(top: str, folders: Sequence[str]) -> Iterator[str]:
    git = f"{top}/.git"
    if os.path.lexists(git) and (os.path.islink(git) or not os.path.isdir(git)):  # noqa: PTH112, PTH114
        yield git
    yield from (f"{top}/.hg/hgrc", *git_files(top, folders))
    for folder in folders:
        yield from (f"{folder}/{name}" for name in STEERING[1:])
        yield from _hooks(f"{folder}/hooks")


def _hooks(folder: str) -> Iterator[str]:
    """The hooks that git would run; the folder itself where it is none."""
    if os.path.islink(folder):  # noqa: PTH114
        yield folder
        return
    try:
        with os.scandir(folder) as found:
            yield from (
                one.path for one in found if not one.name.endswith(".sample") and _ASIDE not in one.name
            )
    except FileNotFoundError:
        return
    except OSError:  # closed to us, and not to git, which only goes through it
        yield folder


def _is_plain(path: str, top: str, folders: Sequence[str]) -> bool:
    """Whether it is what git itself would have made."""
    match os.path.basename(path):  # noqa: PTH119
        case "config" | "config.worktree":
            text = _text(path)
            return plain_config(text, os.path.dirname(path), top) == text  # noqa: PTH120
        case "commondir":
            return _text(path).strip() in {"../..", f"{top}/.git"} and "/worktrees/" in path
        case ".git":
            target = os.path.join(os.path.dirname(path), _text(path).strip().removeprefix("gitdir: "))  # noqa: PTH118, PTH120
            return os.path.normpath(target) in folders
    return False


def _text(path: str) -> str:
    """What a regular file holds, no link followed; a line that is not plain where it is something else, or
    too long to be judged.
    """
    with suppress(OSError), held(open_path(Path(path), READ_FILE)) as descriptor:
        return read_open(descriptor, Path(path), _LARGEST).decode("utf-8", "replace")
    return "?"


def _taken(path: str, kept: str = "") -> str:
    """Move it aside, and say where it is now; what is `kept` of it stands in its place."""
    aside = _moved(path, kept)
    if not aside:
        return "it could not be moved aside: take it away yourself"
    return f"it was moved to {aside}{', and what is harmless in it kept' if kept else ''}"


def _moved(path: str, kept: str) -> str:
    """Rename it by its folder's descriptor, for a command that still runs could put a link in the way; its
    new path, "" where that failed.
    """
    folder, _, name = path.rpartition("/")
    with suppress(OSError), held(open_path(Path(folder or "/"), FOLDER)) as at:
        aside = name + _ASIDE
        if os.path.lexists(f"{folder}/{aside}"):
            aside += f"-{os.urandom(4).hex()}"
        mode = stat.S_IMODE(os.fstat(at).st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:  # a command can close its folder to us
            os.chmod(f"/proc/self/fd/{at}", mode | stat.S_IRWXU)  # noqa: PTH101
        os.rename(name, aside, src_dir_fd=at, dst_dir_fd=at)
        if kept:
            new = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=at)
            with os.fdopen(new, "w", encoding="utf-8") as file:
                file.write(kept)
        return f"{folder}/{aside}"
    return ""
