"""Text for screens and models: clip, strip escapes, mend surrogates."""

import re
from typing import Final

CHARACTERS: Final = 4
"""Characters of a token, on average."""

_ESCAPES = re.compile(
    r"(?P<open>(?:(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*\x1b?"  # what the end of the text leaves open
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*\x1b?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|\x1b[ -/]*)\Z)"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"  # system commands: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*(?:\x1b\\|\x9c)"  # device strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences
    r"|\x1b(?:[@-Z\\-_]|[ -/]+[0-~])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TURNS = re.compile("[\r\u202a-\u202e\u2066-\u2069]")
"""What makes a terminal write over a line, or show it in another order."""
LONGEST_ESCAPE: Final = 4096
"""Characters that may follow an escape before it is taken for none that ends."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def strip_escapes(text: str) -> str:
    """`text` without terminal escape sequences and control characters; newlines, tabs and carriage returns
    that stand alone stay.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return _ESCAPES.sub("", text) if _CONTROLS.search(text) else text


def for_terminal(text: str) -> str:
    """`text` as a terminal may get it: it moves nothing but to the next line or tab, and is read in order."""
    if text.isprintable():
        return text
    return _TURNS.sub("", strip_escapes(text))


def escape_begun(text: str) -> int:
    """Where an escape sequence begins at the end of a text that may go on in what follows; its length where
    none does.
    """
    begun = _CONTROLS.search(text)
    for found in _ESCAPES.finditer(text, begun.start() if begun else len(text)):
        if found["open"] is not None and len(text) - found.start() <= LONGEST_ESCAPE:
            return found.start()
    return len(text)


def mend_surrogates(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it always encodes as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub("\ufffd", text)


def clip(
    text: str, limit: int, *, head_share: float = 0.4, notice: str = "\n… {omitted} characters left out …\n"
) -> str:
    """`text` if it has at most `limit` characters, else its head and tail around a notice; never longer than
    `limit`.
    """
    if len(text) <= limit:
        return text
    line = notice.format(omitted=len(text) - limit)
    room = limit - len(line) - 12
    if room <= 0:
        return text[:limit]
    head = int(room * head_share)
    tail = room - head
    return text[:head] + notice.format(omitted=len(text) - head - tail) + text[len(text) - tail :]


def tokens(text: str) -> int:
    """About how many tokens a text takes: four characters each, fewer where letters take more bytes."""
    return len(text) // CHARACTERS if text.isascii() else len(text.encode("utf-8", "replace")) // CHARACTERS


def duration(seconds: float) -> str:
    """Seconds as people say them: 0.1s, 12.4s, 3m 05s, 2h 10m."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m {int(seconds % 60):02}s"
    return f"{int(seconds // 3600)}h {int(seconds % 3600 // 60):02}m"
