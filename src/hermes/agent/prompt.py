"""The system prompt: sections that are written once for a session, then frozen with it."""

from importlib.resources import files
from typing import Protocol

from msgspec import Struct

SMALL_WINDOW = 16_384
"""Up to this many tokens a model gets the small prompt and few tools: they must stay under a quarter of the
window.
"""


class Place(Struct, frozen=True, kw_only=True):
    """Where a session works: directory, operating system, git branch (empty when none), and how commands are
    confined.
    """

    cwd: str
    platform: str
    branch: str = ""
    confinement: str = ""
    date: str = ""


class PromptSection(Protocol):
    """A part of the system prompt.

    `name` tells it from the others, `order` says where it stands: lower numbers come first.
    """

    @property
    def name(self) -> str:
        """The name, which no other section has."""

    @property
    def order(self) -> int:
        """The place among the sections."""

    async def text(self, place: Place) -> str:
        """Its words for a session that works there, asked for once; "" when it has none."""


class SystemPrompt:
    """The sections of a runtime's prompts; those that say who the agent is and where it works are there."""

    def __init__(self) -> None:
        self._sections: dict[str, PromptSection] = {}
        self.register(Identity())
        self.register(Surroundings())

    def register(self, section: PromptSection) -> None:
        """Add a section to the prompts of sessions that are made from now on; ValueError when its name is
        taken.
        """
        if section.name in self._sections:
            raise ValueError(f"There is a prompt section {section.name!r} already; give it another name.")
        self._sections[section.name] = section

    async def text(self, place: Place) -> str:
        """The whole prompt, of the sections that have something to say."""
        ordered = sorted(self._sections.values(), key=lambda one: (one.order, one.name))
        return "\n\n".join([text for one in ordered if (text := await one.text(place))])


class Identity(Struct, frozen=True):
    """Who the agent is and how it works."""

    name: str = "identity"
    order: int = 0

    async def text(self, place: Place) -> str:
        """The same for every session."""
        del place
        return (files("hermes") / "data" / "prompts" / "identity.md").read_text(encoding="utf-8").strip()


class Surroundings(Struct, frozen=True):
    """What is true of the machine; last, for it differs most."""

    name: str = "surroundings"
    order: int = 1000

    async def text(self, place: Place) -> str:
        """A line for each fact; the date is a day, so that the bytes hold for a session and its
        resumption.
        """
        lines = [
            f"Working directory: {place.cwd}" + (f" (git branch {place.branch})" if place.branch else ""),
            f"System: {place.platform}",
            place.confinement,
            f"Session started: {place.date}" if place.date else "",
        ]
        return "\n".join(line for line in lines if line)
