"""Words of others (skills, servers) in the Markdown of an answer: they stand as words, and format nothing."""

from typing import Final

from hermes.lib.text import clip, strip_escapes
from hermes.lib.visible import one_line

_LONGEST: Final = 200
_LONGEST_CODE: Final = 400
_MOST_LINES: Final = 20


def plain_words(text: str) -> str:
    """Words of others in Markdown, as words."""
    shown = _bounded(text, _LONGEST)
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|~" else letter for letter in shown)


def code_words(text: str) -> str:
    """Words of others as they stand, in one line."""
    return f"`{_bounded(text, _LONGEST_CODE).replace('`', chr(39))}`"


def code_lines(text: str) -> list[str]:
    """Words of others as they stand, line by line between two fences."""
    rows = strip_escapes(text).strip().splitlines()
    more = [f"… and {len(rows) - _MOST_LINES} lines more"] if len(rows) > _MOST_LINES else []
    shown = [_bounded(row, _LONGEST).replace("`", "'") for row in rows[:_MOST_LINES]]
    return ["```text", *shown, *more, "```"]


def _bounded(text: str, longest: int) -> str:
    return one_line(clip(strip_escapes(text), longest, notice="…", head_share=1.0))
