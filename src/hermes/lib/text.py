"""Text for screens and models: clip, strip escapes, mend surrogates."""

import re
from typing import Final

CHARACTERS: Final = 4
"""Characters of a token, on average."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # operating system commands, such as titles and links
    r"|[PX^_][^\x1b]*(?:\x1b\\|$)"  # device strings
    r"|[@-Z\\-_]"  # two-character sequences
    r"|[ -/]+[0-~])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x9b]"
)
_OPEN_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*\Z")
LONGEST_ESCAPE: Final = 4096
"""Characters that may follow an escape before it is taken for none that ends."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def strip_escapes(text: str) -> str:
    """`text` without terminal escape sequences and control characters; newlines and tabs stay."""
    if text.isprintable():
        return text
    return _ESCAPES.sub("", text.replace("\r\n", "\n"))


def escape_begun(text: str) -> int:
    """Where an escape sequence begins at the end of a text that may go on in what follows; its length where
    none does.
    """
    at = text.rfind("\x1b")
    if at < 0 or len(text) - at > LONGEST_ESCAPE:
        return len(text)
    begun = text[at:]
    if begun == "\x1b" and (opened := _OPEN_STRING.search(text[:at])):
        return opened.start()  # it may be what ends that string
    ended = (whole := _ESCAPES.match(begun)) and whole.end() > 1 and not _OPEN_STRING.match(begun)
    return len(text) if ended else at


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
