"""What an attempt is. Scripts find what they need in variables: OUT, WORK, HOME, TCP, SOCKET, VICTIM, PY and so on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Mode = Literal["read-only", "workspace", "full"]
CONFINED: tuple[Mode, ...] = ("read-only", "workspace")
ALWAYS: tuple[Mode, ...] = ("read-only", "workspace", "full")
ESCAPED = "ESCAPED"
"""What a script says when it got something that leaves no other trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A script, the modes that must withstand it, and whether it does its harm when nothing confines it (`shown` by a test)."""

    category: str
    name: str
    script: str
    modes: tuple[Mode, ...]
    shown: bool


def attempts(
    category: str,
    scripts: Mapping[str, str],
    *,
    modes: tuple[Mode, ...] = ALWAYS,
    unshown: Mapping[str, str] | None = None,
) -> list[Attempt]:
    """Attempts of one category; those in `unshown` need rights or programs that a plain user does not have."""
    return [
        Attempt(category=category, name=name, script=script, modes=modes, shown=shown)
        for shown, table in ((True, scripts), (False, unshown or {}))
        for name, script in table.items()
    ]
