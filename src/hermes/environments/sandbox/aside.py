"""Move aside what a command planted, so that its name runs nothing any more."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.beneath import FOLDER, held, open_path

ASIDE: Final = ".taken"
"""The end of the name that it then has."""


def move_aside(path: str, kept: str | None = None, link: str = "") -> str:
    """Move it aside; in its place stands what is `kept` of it, or the `link` that was there. The end of a
    sentence that says where it is now.

    Where a part of the way to it is a link, that was put there meanwhile: the link is moved, for what it
    leads to may be anything of the user's.
    """
    way = _first_link(path)
    aside = _moved(way, kept if way == path else None, link if way == path else "")
    if not aside:
        return "it could not be moved aside: take it away yourself"
    if way != path:
        return f"{way}, a link by which it is reached, was moved to {aside}"
    left = ", and what is harmless in it kept" if kept else ", and what was there put back" if link else ""
    return f"it was moved to {aside}{left}"


def _first_link(path: str) -> str:
    """The first part of the way that is a link; the path itself where there is none."""
    parts = path.split("/")
    ways = ("/".join(parts[:count]) for count in range(2, len(parts)))
    return next((way for way in ways if os.path.islink(way)), path)  # noqa: PTH114  # words, as all here


def _moved(path: str, kept: str | None, link: str) -> str:
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
        if link:
            os.symlink(link, name, dir_fd=at)
        elif kept is not None:
            new = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=at)
            with os.fdopen(new, "w", encoding="utf-8") as file:
                file.write(kept)
        return f"{folder}/{aside}"
    return ""
