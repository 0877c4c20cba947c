"""The difference of two texts as a unified diff."""

import difflib
from typing import Final

from hermes.lib.text import mend_surrogates

LONGEST: Final = 50_000
_ENDS: Final = {10: "⟨U+000A⟩", 13: "⟨U+000D⟩"}
"""Ends of lines in a name would begin a header of another file."""


def unified(before: str | None, after: str | None, path: str) -> str:
    """The diff from `before` to `after`; None stands for a file that is not there.

    Empty when nothing differs.
    """
    old, new, path = _lines(before), _lines(after), path.translate(_ENDS)
    names = (
        "/dev/null" if before is None else f"a/{path.lstrip('/')}",
        "/dev/null" if after is None else f"b/{path.lstrip('/')}",
    )
    return "".join(_ended(line) for line in difflib.unified_diff(old, new, *names))


def readable(diff: str) -> str:
    """A diff that a person may be shown; "" for one that nobody reads."""
    return mend_surrogates(diff) if len(diff) <= LONGEST else ""


def _lines(text: str | None) -> list[str]:
    parts = (text or "").split(
        "\n"
    )  # not splitlines: it also splits at characters that are no line ends in a file
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
