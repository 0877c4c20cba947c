"""Files that a message names with `@`: they are sent with it."""

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.attachments import attachment, is_unseen
from hermes.lib.text import tokens
from hermes.types.error import HermesError
from hermes.types.message import Attachment

if TYPE_CHECKING:
    from hermes.agent.session import Session

_MENTION: Final = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_TRAILING: Final = ".,;:!?)"
_SHARE: Final = 0.25
"""What of the model's window one text may take; a longer one is left for the model to read."""


class Mentions(Struct, frozen=True):
    """What goes with a message, and what its writer is told of files that do not."""

    files: tuple[Attachment, ...] = ()
    told: tuple[str, ...] = ()


def mention(path: str) -> str:
    """A path as a message names it."""
    return f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"


def mentioned(text: str, folder: Path) -> list[Path]:
    """The files in or from `folder` that a message names, once each; words that name none are words."""
    names = [quoted or plain for quoted, plain in _MENTION.findall(text)]
    found = (_file(folder, name) or _file(folder, name.rstrip(_TRAILING)) for name in names)
    return [*dict.fromkeys(path for path in found if path is not None)]


def gathered(text: str, session: "Session", folder: Path) -> Mentions:
    """What a message brings along, as its session's model takes it."""
    files, told = list[Attachment](), list[str]()
    for path in mentioned(text, folder):
        try:
            one = attachment(path)
        except HermesError as error:
            told.append(f"{error} Its name is sent.")
            continue
        if one.media_type == "text/plain":
            one = _without_secrets(one, session)
        if is_unseen(one, session):
            told.append(f"{session.endpoint.model} sees no {path.name}; its name is sent.")
        elif _is_long(one, session):
            told.append(f"{path.name} is too long to send whole; the model can read it by its name.")
        else:
            files.append(one)
    return Mentions(tuple(files), tuple(told))


def pasted_picture(text: str, folder: Path) -> str:
    """The mention of a picture whose path was pasted or dropped, as terminals write one; empty for any other
    text.
    """
    words = text.strip()
    if words.startswith("file://"):
        words = unquote(urlsplit(words).path)
    path = _file(folder, words.strip("'\"").replace("\\ ", " "))
    if path is None or path.suffix.lower() not in _PICTURES:
        return ""
    return mention(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


def _file(folder: Path, name: str) -> Path | None:
    try:
        path = folder / Path(name).expanduser()
        return path if name and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # too long a name, or one with a NUL
        return None


def _without_secrets(one: Attachment, session: "Session") -> Attachment:
    text = session.services.redactor.redact(base64.b64decode(one.data).decode())
    return replace(one, data=base64.b64encode(text.encode()).decode())


def _is_long(one: Attachment, session: "Session") -> bool:
    if one.media_type != "text/plain":
        return False
    return tokens(base64.b64decode(one.data).decode()) > session.endpoint.context_window * _SHARE
