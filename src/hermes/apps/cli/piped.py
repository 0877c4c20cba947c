"""What was piped, as a part of the message: a picture, or a text, where need be in a file to page through."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.agent.attachments import media_type, piped_attachment
from hermes.lib.files import write_atomic
from hermes.lib.text import clip, tokens
from hermes.types.message import Attachment

if TYPE_CHECKING:
    from hermes.agent.session import Session

SHARE: Final = 0.5
"""What of the model's window piped text may fill; the rest is for the prompt, tools and the answer."""
LOCAL: Final = 4_096
"""Tokens of it that a model of this machine gets at once: it reads some tens of them a second."""
SHOWN: Final = 4_000
STRAY: Final = 0.1
"""What of a text may be bytes of another encoding, as in a log; of more nothing could be read."""
READER: Final = "read_file"
_TOLD: Final = (
    "What was piped in is too long for one message: {lines:,} lines, {characters:,} characters. All of it is"
    " in the file {path}; read_file and search_files work on it. Its beginning and end:\n{shown}"
)


def understood(data: bytes) -> str | Attachment:
    """The text that was piped, or the picture or PDF; HermesError for anything else."""
    text = data.decode("utf-8", "replace")
    if media_type(data) == "text/plain" or not (_is_garbled(text) or media_type(data)):
        return text
    return piped_attachment(data)


def _is_garbled(text: str) -> bool:
    return "\0" in text or text.count("\ufffd") > len(text) * STRAY


def fitted(text: str, session: "Session", folder: Path) -> str:
    """The text; where it would fill the window, its head and tail with the path of a file in `folder` that
    has all of it.

    A session without a tool to read files gets it whole.
    """
    most = session.endpoint.context_window * SHARE
    if session.endpoint.local:
        most = min(most, LOCAL)
    if tokens(text) <= most or READER not in session.tools.tools:
        return text
    path = folder / f"stdin-{session.services.ports.token()}.txt"
    cleaned = session.services.redactor.redact(text)
    write_atomic(path, cleaned.encode("utf-8", "replace"), mode=0o600)
    lines = cleaned.count("\n") + (not cleaned.endswith("\n"))
    shown = clip(cleaned, SHOWN)
    return _TOLD.format(lines=lines, characters=len(cleaned), path=path, shown=shown)
