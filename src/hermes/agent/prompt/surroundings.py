"""What is true of the machine that the tools work on."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.lib.visible import visible

LONGEST: Final = 400
"""Characters of such a name."""


class Surroundings(Struct, frozen=True):
    """Where the session works."""

    name: str = "environment"
    order: int = 200

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A line for each fact."""
        place = context.place
        branch = f" (git branch {in_one_line(place.branch)})" if place.branch else ""
        lines = [
            f"Working directory: {in_one_line(place.cwd)}{branch}",
            f"Home folder: {in_one_line(place.home)}" if place.home else "",
            f"System: {place.platform}",
            place.confinement,
        ]
        source = "the machine of the tools" if place.remote else "this machine"
        return [PromptSpan(source, "\n".join(line for line in lines if line), lasting=False)]


class Date(Struct, frozen=True):
    """The day; last, for it differs most."""

    name: str = "date"
    order: int = 1000

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A day and no time, so that the bytes hold for a session and its resumption."""
        date = context.place.date
        return [PromptSpan("the clock", f"Session started: {date}", lasting=False)] if date else []


def in_one_line(name: str) -> str:
    """The name of a file, folder or branch as it may stand in a prompt: a name may have lines."""
    return visible(name).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")[:LONGEST]
