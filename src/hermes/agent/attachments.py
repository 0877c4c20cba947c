"""Files that travel with a message: read, told apart by their first bytes, refused in a sentence."""

import base64
import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.types.error import HermesError
from hermes.types.message import Attachment

if TYPE_CHECKING:
    from hermes.agent.session import Session

LARGEST: Final = 20_000_000
"""Bytes of a file; providers take no more."""
_MAGIC: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
_WEBP: Final = (b"RIFF", b"WEBP")
_TAKEN: Final = "A message takes pictures (PNG, JPEG, GIF, WebP), PDF and text."


def attachment(path: str | Path) -> Attachment:
    """A picture (PNG, JPEG, GIF, WebP), a PDF or a text to send with a message; HermesError says what is
    wrong with another file.
    """
    file = Path(path).expanduser()
    try:
        if not file.is_file():  # opening a device may do something
            raise HermesError(f"{path} is no file; name a file to send.")
        size, data = _read(file)
    except OSError as error:
        raise HermesError(f"{path} cannot be read: {error.strerror or error}.") from error
    return _attached(data, str(path), max(size, len(data)), _name(file))


def piped_attachment(data: bytes) -> Attachment:
    """The same of what was piped in."""
    return _attached(data, "What is on stdin", len(data), "stdin")


def _attached(data: bytes, called: str, size: int, name: str) -> Attachment:
    if size > LARGEST:
        raise HermesError(f"{called} is too large to send: {size / 1e6:.0f} MB, at most {LARGEST // 10**6}.")
    kind = media_type(data)
    if not kind:
        raise HermesError(f"{called} is neither a picture nor a PDF nor text. {_TAKEN}")
    return Attachment(media_type=kind, data=base64.b64encode(data).decode(), name=name)


def _read(file: Path) -> tuple[int, bytes]:
    """The size of a regular file, and its bytes unless they are too many; OSError for what says no size, as
    the files of /proc do, which may have no end.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        found = os.fstat(opened.fileno())
        if not stat.S_ISREG(found.st_mode):  # another one than before
            raise OSError(errno.EINVAL, "it is no regular file")
        if found.st_size > LARGEST:
            return found.st_size, b""
        if found.st_size == 0 and opened.read(1):
            raise OSError(errno.EINVAL, "it says no size")
        return found.st_size, opened.read(LARGEST + 1)


def _name(file: Path) -> str:
    """The name of a file as one word in brackets can have it."""
    return "".join(one if one.isprintable() and one != "]" else "_" for one in file.name)


def is_unseen(one: Attachment, session: "Session") -> bool:
    """Whether the session's model learns no more of it than its name."""
    profile = session.endpoint.profile
    if one.media_type.startswith("image/"):
        return not profile.vision or session.endpoint.calls == "constrained"
    return one.media_type == "application/pdf" and not profile.documents


def media_type(data: bytes) -> str:
    """What these bytes are; empty for what a message does not take."""
    if found := next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), ""):
        return found
    if data.startswith(_WEBP[0]) and data[8:12] == _WEBP[1]:
        return "image/webp"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else "text/plain"
