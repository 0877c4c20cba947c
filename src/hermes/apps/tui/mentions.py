"""Files and folders that a message names with `@`: the files and lists of the folders are sent with it."""

import base64
import os
import re
from heapq import nsmallest
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.attachments import attachment, is_unseen
from hermes.lib.nearest import nearest
from hermes.lib.text import tokens
from hermes.lib.visible import visible
from hermes.types.error import HermesError
from hermes.types.message import Attachment

if TYPE_CHECKING:
    from hermes.agent.session import Session

_MENTION: Final = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_TRAILING: Final = ".,;:!?)"
_SUFFIX: Final = re.compile(r"\w\.\w{1,4}$", re.ASCII)
_LISTED: Final = 200
"""Names of a folder that are sent; the model's own tools find the rest."""
_COMPARED: Final = 2_000
"""Names of folders among which those that look like the missing ones of a message are sought: 0.1 ms each."""
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
    """The files and folders in or from `folder` that a message names, once each; words that name none are
    words.
    """
    found = (_meant(folder, name) for name in _names(text))
    return [*dict.fromkeys(path for path in found if path is not None)]


def missing(text: str, folder: Path) -> list[str]:
    """A sentence for each name in a message that is written as a file's is, where there is no such file, or
    something that cannot be sent.
    """
    names = dict.fromkeys(name.rstrip(_TRAILING) for name in _names(text) if _meant(folder, name) is None)
    most = _COMPARED // max(len(names), 1)
    return [told for name in names if (told := _why_missing(folder, name, most))]


def gathered(text: str, session: "Session", folder: Path) -> Mentions:
    """What a message brings along, as its session's model takes it."""
    files, told = list[Attachment](), missing(text, folder)
    for path in mentioned(text, folder):
        try:
            one = _listing(path, folder) if path.is_dir() else attachment(path)
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
    path = _there(folder, words.strip("'\"").replace("\\ ", " "))
    if path is None or path.suffix.lower() not in _PICTURES:
        return ""
    return mention(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


def _names(text: str) -> list[str]:
    return [quoted or plain for quoted, plain in _MENTION.findall(text)]


def _meant(folder: Path, name: str) -> Path | None:
    return _there(folder, name) or _there(folder, name.rstrip(_TRAILING))


def _there(folder: Path, name: str) -> Path | None:
    """The file or folder of a name; None where there is none, or something else."""
    try:
        path = folder / Path(name).expanduser()
        return path if name and (path.is_file() or path.is_dir()) else None
    except (OSError, ValueError, RuntimeError):  # too long a name, or one with a NUL
        return None


def _why_missing(folder: Path, name: str, most: int) -> str:
    """Empty where the name may be just a word; what it may mean is sought among so many names."""
    if _is_odd(folder, name):
        return f"{name} is no file that can be sent."
    if near := _similar(folder, name, most):
        return f"There is no file {name}. Did you mean {' or '.join(near)}?"
    return f"There is no file {name}." if _SUFFIX.search(name) or _is_below(folder, name) else ""


def _is_odd(folder: Path, name: str) -> bool:
    """Whether something of that name is there, which is neither file nor folder if these were looked for: a
    pipe, a device, a link to nothing.
    """
    try:
        return bool(name) and os.path.lexists(folder / Path(name).expanduser())
    except RuntimeError:  # there is no such user
        return False


def _is_below(folder: Path, name: str) -> bool:
    """Whether a name begins with a folder that is there; npm's @types/node seldom does."""
    first, slash, _ = name.partition("/")
    return bool(slash) and _there(folder, first or "/") is not None


def _similar(folder: Path, name: str, most: int) -> list[str]:
    """Names that look like a missing one, in the folder where it would be."""
    path = PurePath(name)
    where = _there(folder, str(path.parent))
    try:
        found = islice(where.iterdir(), most) if where and path.name else ()
        names = [one.name for one in found]
    except OSError:
        return []
    return [visible(str(path.with_name(near))) for near in nearest(path.name, names, most=3)]


def _listing(path: Path, folder: Path) -> Attachment:
    """What is in a folder, as a text to send; HermesError where it cannot be read."""
    try:
        names = os.listdir(path)  # noqa: PTH208  # a path for each takes seconds where there are many
    except OSError as error:
        raise HermesError(f"{path} cannot be read: {error.strerror or error}.") from error
    listed = [visible(f"{one}/" if (path / one).is_dir() else one) for one in nsmallest(_LISTED, names)]
    more = [f"… and {len(names) - _LISTED} more"] if len(names) > _LISTED else []
    text = "\n".join([*listed, *more]) or "(empty)"
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    data = base64.b64encode(text.encode()).decode()
    return Attachment(media_type="text/plain", data=data, name=f"list of {visible(str(shown))}/")


def _without_secrets(one: Attachment, session: "Session") -> Attachment:
    text = session.services.redactor.redact(base64.b64decode(one.data).decode())
    return replace(one, data=base64.b64encode(text.encode()).decode())


def _is_long(one: Attachment, session: "Session") -> bool:
    if one.media_type != "text/plain":
        return False
    return tokens(base64.b64decode(one.data).decode()) > session.endpoint.context_window * _SHARE
