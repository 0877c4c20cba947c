"""Move aside what a command planted, so that its name runs nothing any more."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.beneath import FOLDER, held, open_path

ASIDE: Final = ".taken"
"""The end of the name that it then has."""


class Instead(Struct, frozen=True, kw_only=True):
    """What stands in its place: a `link` or a `text`, as it was there, or what is `kept` of the new one."""

    link: str = ""
    text: str | None = None
    kept: bool = False

    @property
    def told(self) -> str:
        """The end of the sentence."""
        if not self.link and not (self.text or not self.kept):
            return ""
        return ", and what is harmless in it kept" if self.kept else ", and what was there put back"


def move_aside(path: str, instead: Instead | None = None) -> str:
    """Move it aside; the end of a sentence that says where it is now.

    Where a part of the way to it is a link, that was put there meanwhile: the link is moved, for what it
    leads to may be anything of the user's.
    """
    way = _first_link(path)
    aside = _moved(way, instead if way == path else None)
    if not aside:
        return "it could not be moved aside: take it away yourself"
    if way != path:
        return f"{way}, a link by which it is reached, was moved to {aside}"
    return f"it was moved to {aside}{instead.told if instead else ''}"


def _first_link(path: str) -> str:
    """The first part of the way that is a link; the path itself where there is none."""
    parts = path.split("/")
    ways = ("/".join(parts[:count]) for count in range(2, len(parts)))
    return next((way for way in ways if os.path.islink(way)), path)  # noqa: PTH114  # words, as all here


def _moved(path: str, instead: Instead | None) -> str:
    """Rename it by its folder's descriptor, for a command that still runs could put a link in the way; its
    new path, "" where that failed.
    """
    folder, _, name = path.rpartition("/")
    with suppress(OSError), held(open_path(Path(folder or "/"), FOLDER)) as at:
        aside = name + ASIDE
        if os.path.lexists(f"{folder}/{aside}"):
            aside += f"-{os.urandom(4).hex()}"
        mode = stat.S_IMODE(os.fstat(at).st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:  # a command can close its folder to us
            os.chmod(f"/proc/self/fd/{at}", mode | stat.S_IRWXU)  # noqa: PTH101
        os.rename(name, aside, src_dir_fd=at, dst_dir_fd=at)
        if instead and instead.link:
            os.symlink(instead.link, name, dir_fd=at)
        elif instead and instead.text is not None:
            new = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=at)
            with os.fdopen(new, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(instead.text)
        return f"{folder}/{aside}"
    return ""
