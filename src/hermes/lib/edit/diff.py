"""The difference of two texts as a unified diff."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from hermes.lib.secretvalues import MASK
from hermes.lib.text import mend_surrogates

LONGEST: Final = 50_000
_ENDS: Final = {10: "⟨U+000A⟩", 13: "⟨U+000D⟩"}
"""Ends of lines in a name would begin a header of another file."""


Redact = Callable[[str, str], str]
"""Gives the text of a file without its secrets; it gets the path, too, which may say that all are."""


def unified(before: str | None, after: str | None, path: str, redact: Redact | None = None) -> str:
    """The diff from `before` to `after`; None stands for a file that is not there.

    Empty when nothing differs. What `redact` finds in the whole of a text is hidden in the diff, which may
    have only a part of it.
    """
    name = _named(path)
    old, new = "/dev/null" if before is None else f"a/{name}", "/dev/null" if after is None else f"b/{name}"
    hidden = _hidden((before, after), partial(redact, path)) if redact else {}
    return _unified(before, after, old, new, hidden)


def moved(before: str, after: str, path: str, to: str, redact: Redact) -> str:
    """The diff of a file that has another path after it; it says so also where nothing else differs. What
    `redact` finds is hidden, as in `unified`.
    """
    old, new = _named(path), _named(to)
    hidden = {**_hidden((before,), partial(redact, path)), **_hidden((after,), partial(redact, to))}
    return f"rename from {old}\nrename to {new}\n{_unified(before, after, f'a/{old}', f'b/{new}', hidden)}"


def _unified(before: str | None, after: str | None, old: str, new: str, hidden: Mapping[str, str]) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new)
    return "".join(_ended(_shown(line, hidden)) for line in lines)


def _named(path: str) -> str:
    return path.translate(_ENDS).lstrip("/")


def readable(diff: str) -> str:
    """A diff that a person may be shown; "" for one that nobody reads."""
    return mend_surrogates(diff) if len(diff) <= LONGEST else ""


def _hidden(texts: Iterable[str | None], redact: Callable[[str], str]) -> Mapping[str, str]:
    """What stands for each line that is not left whole without secrets."""
    hidden = {}
    for text in filter(None, texts):
        left = set(redact(text).split("\n"))
        for line in dict.fromkeys(text.split("\n")):
            if line not in left:
                alone = redact(line)
                hidden[line] = MASK if alone == line else alone  # a part of something longer
    return hidden


def _shown(line: str, hidden: Mapping[str, str]) -> str:
    bare = line.removesuffix("\n")
    return f"{line[0]}{hidden.get(bare[1:], bare[1:])}{line[len(bare) :]}"


def _lines(text: str | None) -> list[str]:
    parts = (text or "").split(
        "\n"
    )  # not splitlines: it also splits at characters that are no line ends in a file
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
