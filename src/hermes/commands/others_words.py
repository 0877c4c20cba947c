"""Words of others (skills, servers) in the Markdown of an answer: they stand as words, and format nothing."""

from typing import Final

from hermes.lib.text import clip, strip_escapes
from hermes.lib.visible import one_line

_LONGEST: Final = 200


def plain_words(text: str) -> str:
    """Words of others in Markdown, as words."""
    shown = one_line(clip(strip_escapes(text), _LONGEST, notice="…", head_share=1.0))
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|~" else letter for letter in shown)


def code_words(text: str) -> str:
    """Words of others as they stand, in one line."""
    return f"`{one_line(strip_escapes(text)).replace('`', chr(39))}`"
