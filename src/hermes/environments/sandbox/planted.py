"""Keep what a command planted from running later, outside: what is new, and would be run by git, a shell or a
login, is moved aside when the command has ended. What is there already is covered by mounts.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox.aside import ASIDE, Instead, move_aside
from hermes.environments.sandbox.git_folders import git_files, git_folders, git_names, own_folder
from hermes.environments.sandbox.hard_links import make_single
from hermes.environments.sandbox.snapshot import FileSnapshot, exists, link_at, snapshot, text_of
from hermes.lib.repository import OLD_REMOTES, RESUMED, STEERING, plain_config, plain_steps

_LONGEST_SHOWN: Final = 80
_OR_THE_USERS: Final = "should the user have made it meanwhile, they can move it back"
_RUNS: Final = "{} would run something by itself, or be trusted"
_INSTRUCTS: Final = "agents would take {} as instructions, and text from outside was read"

Before = Mapping[str, FileSnapshot]
"""What was there, by path: links, and the text of what chooses what git runs."""


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

    def secured(self) -> Before:
        """All of it that is there now; what of it had names elsewhere, by which a command could change it, is
        a file of its own from now on.
        """
        files = [path for path in (*self.starts, *self.instructions) if exists(path)]
        of_git = [path for top in self.tops for path in _of_git(top) if exists(path)]
        make_single([*files, *of_git])
        hooks = {path for path in of_git if path.endswith("/hooks")}
        seen = {path: link_at(path) or FileSnapshot() for path in (*files, *hooks)}
        # What is in `hooks` is covered as a folder
        return seen | {
            path: snapshot(path) for path in of_git if hooks.isdisjoint((path, path.rpartition("/")[0]))
        }

    def take_planted(self, before: Before) -> list[str]:
        """Move aside what was not there `before`, or is something else now, unless it is what git itself
        makes; what was there is put back. A sentence for each.
        """
        told = [*_taken_files(self.starts, before, _RUNS)]
        told += _taken_files(self.instructions, before, _INSTRUCTS)
        for top in self.tops:
            told += _taken_names(top, before)
            told += _taken_in_git(top, before)
        return told


def _without(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in some if one not in others) if others else some


def _taken_files(paths: Iterable[str], before: Before, why: str) -> Iterator[str]:
    """Links come before what they lead to."""
    for path in paths:
        if not exists(path):
            continue
        was = before.get(path)
        if was is None:
            yield f"{why.format(path)}; {move_aside(path)}; {_OR_THE_USERS}"
        elif was.link and link_at(path) != was:
            yield f"{why.format(path)}; {move_aside(path, Instead(link=was.way_back(path)))}; {_OR_THE_USERS}"


def _taken_names(top: str, before: Before) -> Iterator[str]:
    """Put back the links by which git finds its folder, before anything behind them is looked at."""
    for path in git_names(top):
        now = link_at(path)
        was = before.get(path, FileSnapshot())
        if now and now != was:
            yield _told(path, "", move_aside(path, Instead(link=was.way_back(path)) if was.link else None))


def _of_git(top: str) -> Iterator[str]:
    folders = list(git_folders(top, own_folder(top)))
    yield from _steering(top, folders)
    yield from (f"{folder}/hooks" for folder in folders)


def _taken_in_git(top: str, before: Before) -> Iterator[str]:
    git = f"{top}/.git"
    known = before.get(git)
    folders = list(git_folders(top, known.leads if known and known.link else git))
    names = (path for path in before if path.endswith("/.git") and path.startswith(f"{top}/"))
    for path in dict.fromkeys((*_steering(top, folders), *names)):
        if not os.path.lexists(path) or _is_covered(path, before):
            continue
        was = before.get(path, FileSnapshot())
        text = text_of(path)
        kept = _plain_part(path, text, top, folders, was.text or "")
        if kept is None or kept != text:
            yield _told(path, _odd_line(text, kept), move_aside(path, _instead(path, kept, was)))


def _told(path: str, line: str, moved: str) -> str:
    return f"{path} could make git run something{f' ({line})' if line else ''}; {moved}; {_OR_THE_USERS}"


def _instead(path: str, kept: str | None, was: FileSnapshot) -> Instead | None:
    """What stands in its place: what was there, but for a list of steps, which git itself changes and which
    must be there though it be empty.
    """
    if path.endswith(RESUMED):
        return Instead(text=kept, kept=True) if kept or path.endswith("todo") else None
    if was.link:
        return Instead(link=was.way_back(path))
    if was.text is not None:
        return Instead(text=was.text)
    return Instead(text=kept, kept=True) if kept else None


def _odd_line(text: str | None, kept: str | None) -> str:
    """The first line that was not kept, as far as there is one to show; no heading of a section."""
    if text is None or kept is None:
        return ""
    stays = set(kept.splitlines())
    odd = (line.strip() for line in text.splitlines() if line not in stays)
    line = next((line for line in odd if line and not line.startswith("[")), "")
    return line[:_LONGEST_SHOWN] if line.isprintable() else ""


def _is_covered(path: str, before: Before) -> bool:
    """Whether it is as it was; hooks that were there are covered as a folder."""
    if path.endswith("/commondir"):  # nothing covers that of a worktree
        return False
    was = before.get(path)
    unread = was is not None and was.text is None and path.endswith(RESUMED)
    is_same = was is not None and not unread and snapshot(path) == was
    return is_same or os.path.dirname(path) in before  # noqa: PTH120


def _steering(top: str, folders: Sequence[str]) -> Iterator[str]:
    for git in git_names(top):
        if os.path.lexists(git) and (os.path.islink(git) or not os.path.isdir(git)):  # noqa: PTH112, PTH114
            yield git
    if os.path.islink(f"{top}/.hg"):  # noqa: PTH114
        yield f"{top}/.hg"
    yield from (f"{top}/.hg/hgrc", *git_files(top, folders))
    for folder in folders:
        yield from (f"{folder}/{name}" for name in (*STEERING[1:], *RESUMED))
        if folder.rpartition("/")[0].endswith("/worktrees"):
            yield f"{folder}/gitdir"
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
            return plain_config(text, folder, top, known)
        case "commondir" if "/worktrees/" in path:
            return text if text.strip() in {"../..", f"{top}/.git"} else None
        case "gitdir":  # by which the worktree is found the next time
            return text if not known or not os.path.lexists(os.path.join(folder, known.strip())) else known  # noqa: PTH118
        case ".git":
            named = text.strip().removeprefix("gitdir: ")
            target = os.path.normpath(os.path.join(folder, named))  # noqa: PTH118
            is_made = target in folders and "/.git/" in f"{target}/"  # where git itself keeps one
            return text if is_made else None
    return None
