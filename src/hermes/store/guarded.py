"""Which places of a workspace a checkpoint does not save, and which a restore does not write."""

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hermes.lib.repository import OLD_REMOTES, STEERING, plain_config, read_plain, steers_git


class Guarded(Struct, frozen=True):
    """Places that no command in the sandbox gets at: by path, `hidden` ones are not saved, and what is in one
    that `starts` something is not put back.
    """

    hidden: Callable[[str], bool] = lambda _path: False
    starts: Callable[[str], bool] = lambda _path: False

    def refuses(self, top: Path, kept: Path) -> Callable[[str], bool]:
        """Whether a file may not be put at a path at or below `top`; what was there is kept at `kept`. It
        would be run by a login or by git, in a repository as it is there or as it was kept.
        """

        def is_refused(path: str) -> bool:
            saved = Path(kept, Path(path).relative_to(top))
            return self.starts(path) or (_is_of_git(path, saved) and not _is_plain(saved))

        return is_refused


def _is_of_git(path: str, kept: Path) -> bool:
    """Whether a place chooses what git runs."""
    if steers_git(path):
        return True
    at, saved = Path(path), kept
    while at.name:
        if at.name in {*STEERING, *OLD_REMOTES} and any(map(_has_head, (at.parent, saved.parent))):
            return True
        at, saved = at.parent, saved.parent
    return False


def _has_head(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD")


def _is_plain(kept: Path) -> bool:
    """Whether what was kept are settings of a repository that run nothing."""
    if kept.name != "config" or kept.is_symlink():
        return False
    text = read_plain(str(kept))
    return plain_config(text) == text
