"""What is at a path, so that it can be told later whether it is that still, and be put back."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hermes.lib.beneath import FOLDER, READ_FILE, held, open_beneath

_LARGEST: Final = 1_000_000
_ACCESS_TAKES_LINKS: Final = os.access("/", os.F_OK, follow_symlinks=False)  # not every C library's does


class FileSnapshot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a `link` said and where it `leads`, or the `text` of a regular file; of all else, that it is
    there.
    """

    link: str = ""
    leads: str = ""
    text: str | None = None

    def way_back(self, path: str) -> str:
        """What a link at that path has to say to lead there again."""
        leads = os.path.realpath(os.path.join(os.path.dirname(path), self.link))  # noqa: PTH118, PTH120
        return self.link if leads == self.leads else self.leads


def snapshot(path: str) -> FileSnapshot:
    """What is there; of what cannot be read, that it is."""
    return link_at(path) or FileSnapshot(text=text_of(path))


def link_at(path: str) -> FileSnapshot | None:
    """What is there, if it is a link."""
    if not os.path.islink(path):  # noqa: PTH114  # words, as all here
        return None
    with suppress(OSError):
        return FileSnapshot(link=os.readlink(path), leads=os.path.realpath(path))  # noqa: PTH115
    return None


def on_the_way(path: str) -> Iterator[str]:
    """The links by which an absolute path leads somewhere, each where it really is, and then that place."""
    at = ""
    for part in path.strip("/").split("/"):
        at = f"{at}/{part}"
        if os.path.islink(at):  # noqa: PTH114
            yield at
            at = os.path.realpath(at).rstrip("/")
    yield at or "/"


def exists(path: str) -> bool:
    """Whether there is something with that name, a link that leads nowhere included."""
    if _ACCESS_TAKES_LINKS:  # most are not there, and `lexists` would raise and catch an error for each
        return os.access(path, os.F_OK, follow_symlinks=False)
    return os.path.lexists(path)


def text_of(path: str) -> str | None:
    """What a regular file holds, no link followed; None where it is something else, or too long to be
    judged. Bytes that are no characters come back as they were when it is written.
    """
    try:
        with held(os.open("/", FOLDER)) as top, held(open_beneath(top, path[1:], READ_FILE)) as file:
            return _regular(file)
    except OSError:
        return None


def _regular(file: int) -> str | None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return None
    # It may grow meanwhile; a file of the system may say that it holds nothing
    text = os.read(file, _LARGEST + 1)
    return text.decode("utf-8", "surrogateescape") if len(text) <= _LARGEST else None
