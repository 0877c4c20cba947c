"""What is true of the machine that the tools work on."""

from collections.abc import Sequence

from msgspec import Struct

from hermes.agent.prompt.builder import PromptContext, PromptSpan


class Surroundings(Struct, frozen=True):
    """Where the session works."""

    name: str = "environment"
    order: int = 200

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A line for each fact."""
        place = context.place
        lines = [
            f"Working directory: {place.cwd}" + (f" (git branch {place.branch})" if place.branch else ""),
            f"Home folder: {place.home}" if place.home else "",
            f"System: {place.platform}",
            place.confinement,
        ]
        source = "the machine of the tools" if place.remote else "this machine"
        return [PromptSpan(source, "\n".join(line for line in lines if line))]


class Date(Struct, frozen=True):
    """The day; last, for it differs most."""

    name: str = "date"
    order: int = 1000

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A day and no time, so that the bytes hold for a session and its resumption."""
        date = context.place.date
        return [PromptSpan("the clock", f"Session started: {date}")] if date else []
