"""Keep what a command planted from running later, outside: what is new, and would be run by git, a shell or a
login, is moved aside when the command has ended. What is there already is covered by mounts.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.files import read_open
from hermes.environments.sandbox.aside import ASIDE, move_aside
from hermes.environments.sandbox.git_folders import git_files, git_folders, git_names, own_folder
from hermes.lib.beneath import READ_FILE, held, open_path
from hermes.lib.repository import OLD_REMOTES, RESUMED, STEERING, plain_config, plain_steps

_LARGEST: Final = 1_000_000
_LONGEST_SHOWN: Final = 80
_ACCESS_TAKES_LINKS: Final = os.access("/", os.F_OK, follow_symlinks=False)  # not every C library's does
_OR_THE_USERS: Final = "should the user have made it meanwhile, they can move it back"

Before = Mapping[str, str]
"""What was there, by path: where a link led, the text of what git goes on with, "" for what mounts cover."""


class Watched(Struct, frozen=True, kw_only=True):
    """Where something planted would run: the repositories that lie in `tops`, and `starts`, files that a
    program of the user's runs by itself or trusts, as far as a command could make them; `instructions` are
    what agents take as such, where that must not be made. Absolute paths.
    """

    tops: tuple[str, ...]
    starts: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()

    def plus(self, other: "Watched") -> "Watched":
        """These, and those of the other."""
        return Watched(
            tops=self.tops + other.tops,
            starts=self.starts + other.starts,
            instructions=self.instructions + other.instructions,
        )

    def beyond(self, other: "Watched") -> "Watched":
        """Those that the other has not."""
        return Watched(
            tops=_without(self.tops, other.tops),
            starts=_without(self.starts, other.starts),
            instructions=_without(self.instructions, other.instructions),
        )

    def there(self) -> Before:
        """All of it that is there now."""
        found = [*self.starts, *self.instructions]
        for top in self.tops:
            folders = list(git_folders(top, own_folder(top)))
            found += [*_steering(top, folders), *(f"{folder}/hooks" for folder in folders)]
        return {path: _state(path) or "" for path in found if _exists(path)}

    def take_planted(self, before: Before) -> list[str]:
        """Move aside what was not there `before`, unless it is what git itself makes; a sentence for each."""
        told = [
            f"{path} would run something by itself, or be trusted; {move_aside(path)}; {_OR_THE_USERS}"
            for path in self.starts
            if path not in before and _exists(path)
        ]
        told += [
            f"agents would take {path} as instructions, and text from outside was read; {move_aside(path)};"
            f" {_OR_THE_USERS}"
            for path in self.instructions
            if path not in before and _exists(path)
        ]
        for top in self.tops:
            told += _taken_names(top, before)
            told += _taken_in_git(top, before)
        return told


def _without(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in some if one not in others) if others else some


def _taken_names(top: str, before: Before) -> Iterator[str]:
    """Put back the links by which git finds its folder, before anything behind them is looked at."""
    for path in git_names(top):
        if os.path.islink(path) and before.get(path) != _state(path):  # noqa: PTH114  # words, as all here
            yield _told(path, "", move_aside(path, link=before.get(path, "")))


def _taken_in_git(top: str, before: Before) -> Iterator[str]:
    git = f"{top}/.git"
    folders = list(git_folders(top, before.get(git) or git))
    for path in _steering(top, folders):
        if not os.path.lexists(path) or _is_covered(path, before):
            continue
        text = _text(path)
        kept = _plain_part(path, text, top, folders, before.get(path, ""))
        if kept is None or kept != text:
            yield _told(path, _odd_line(text, kept), move_aside(path, _left(path, kept)))


def _told(path: str, line: str, moved: str) -> str:
    return f"{path} could make git run something{f' ({line})' if line else ''}; {moved}; {_OR_THE_USERS}"


def _left(path: str, kept: str | None) -> str | None:
    """What stands in its place: a list of steps must be there, though it be empty."""
    return kept if kept or path.endswith("todo") else None


def _odd_line(text: str | None, kept: str | None) -> str:
    """The first line that was not kept, as far as there is one to show; no heading of a section."""
    if text is None or kept is None:
        return ""
    stays = set(kept.splitlines())
    odd = (line.strip() for line in text.splitlines() if line not in stays)
    line = next((line for line in odd if line and not line.startswith("[")), "")
    return line[:_LONGEST_SHOWN] if line.isprintable() else ""


def _is_covered(path: str, before: Before) -> bool:
    """Whether mounts have kept it, or it is as it was; hooks that were there are covered as a folder."""
    if path.endswith("/commondir"):  # nothing covers that of a worktree
        return False
    now = _state(path)
    return (now is not None and before.get(path) == now) or os.path.dirname(path) in before  # noqa: PTH120


def _state(path: str) -> str | None:
    """What `Before` has of it; None where that cannot be told."""
    if os.path.islink(path):  # noqa: PTH114
        return os.path.realpath(path)
    return _text(path) if path.endswith(RESUMED) else ""


def _exists(path: str) -> bool:
    """Whether there is something with that name, a link that leads nowhere included."""
    if _ACCESS_TAKES_LINKS:  # most are not there, and `lexists` would raise and catch an error for each
        return os.access(path, os.F_OK, follow_symlinks=False)
    return os.path.lexists(path)


def _steering(top: str, folders: Sequence[str]) -> Iterator[str]:
    for git in git_names(top):
        if os.path.lexists(git) and (os.path.islink(git) or not os.path.isdir(git)):  # noqa: PTH112, PTH114
            yield git
    if os.path.islink(f"{top}/.hg"):  # noqa: PTH114
        yield f"{top}/.hg"
    yield from (f"{top}/.hg/hgrc", *git_files(top, folders))
    for folder in folders:
        yield from (f"{folder}/{name}" for name in (*STEERING[1:], *RESUMED))
        for name in ("hooks", *OLD_REMOTES):
            yield from _entries(f"{folder}/{name}")


def _entries(folder: str) -> Iterator[str]:
    """What git would run or read there; the folder itself where it is none."""
    if os.path.islink(folder):  # noqa: PTH114
        yield folder
        return
    try:
        with os.scandir(folder) as found:
            yield from (
                one.path for one in found if not one.name.endswith(".sample") and ASIDE not in one.name
            )
    except FileNotFoundError:
        return
    except OSError:  # closed to us, and not to git, which only goes through it
        yield folder


def _plain_part(path: str, text: str | None, top: str, folders: Sequence[str], known: str) -> str | None:
    """What of it git itself would have made, or was `known`: all of it, a part, or None where nothing is."""
    if text is None:
        return None
    folder, _, name = path.rpartition("/")
    if path.endswith(RESUMED):
        return plain_steps(name, text, known)
    match name:
        case "config" | "config.worktree":
            return plain_config(text, folder, top)
        case "commondir" if "/worktrees/" in path:
            return text if text.strip() in {"../..", f"{top}/.git"} else None
        case ".git":
            target = os.path.normpath(f"{folder}/{text.strip().removeprefix('gitdir: ')}")
            return text if target in folders else None
    return None


def _text(path: str) -> str | None:
    """What a regular file holds, no link followed; None where it is something else, or too long to be
    judged.
    """
    with suppress(OSError), held(open_path(Path(path), READ_FILE)) as descriptor:
        return read_open(descriptor, Path(path), _LARGEST).decode("utf-8", "replace")
    return None
