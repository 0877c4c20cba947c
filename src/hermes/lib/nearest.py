"""The known names that somebody may have meant by one that nothing has."""

from collections.abc import Iterable
from typing import Final

from hermes.lib.lazy import import_object

_CLOSE: Final = 0.7
"""How much of a name must be alike: a slip of the finger leaves three quarters, other names of the same kind,
such as gone.md and notes.md, two thirds.
"""


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """At most so many of the known names that look like `name`, the likeliest first; case and the kind of
    dash do not count.
    """
    folded = {_folded(one): one for one in known}
    close = import_object("difflib:get_close_matches")(_folded(name), folded, n=most, cutoff=_CLOSE)
    return [folded[one] for one in close]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
