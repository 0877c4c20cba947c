"""What a place of skills is asked: what it has, and the files of one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from hermes.skills.lock_file import Trust

MOST_OFFERS: Final = 1_000
"""Skills that one place lists at most."""
MOST_ASKED: Final = 100
"""Skills that a registry is asked for at once."""


class Offer(Struct, frozen=True, kw_only=True):
    """A skill that can be had: `words` lead to it, as `hermes skills install` takes them. `level` is what the
    guard says of it where its files were there to be looked at.
    """

    words: str
    description: str
    trust: Trust
    level: str = ""

    def fits(self, wanted: str) -> bool:
        """Whether each of these words is in its name or description."""
        said = f"{self.words} {self.description}".casefold()
        return all(word in said for word in wanted.casefold().split())


class SkillHub(Protocol):
    """A place with skills, by the name that people call it."""

    @property
    def name(self) -> str:
        """What `--source` takes, and what stands before a fault."""

    async def offers(self, words: str) -> Sequence[Offer]:
        """The skills that fit the words, all of them for none; SkillError where the place cannot be asked."""

    async def fetch(self, path: str, place: Path) -> Path:
        """The folder of one skill, brought into an empty place; SkillError where it cannot be had."""
