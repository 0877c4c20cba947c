"""Who the agent is: the user's SOUL.md, or the words that come with Hermes."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.agent.prompt.notes import TextRules, blocked, read_notes
from hermes.lib.data_files import data_text


class Identity(Struct, frozen=True):
    """Who the agent is and how it works; `soul` is the file that replaces the built-in words."""

    soul: Path
    rules: TextRules
    name: str = "identity"
    order: int = 0

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """The same for every session of a home; where the file is blocked, that is said after the built-in
        words.
        """
        del context
        own = read_notes(self.soul, self.rules)
        if own and not own.text.startswith(blocked(own.source)):
            return [own]
        return [PromptSpan("built in", built_in()), *([own] if own else [])]


def built_in() -> str:
    """The words that come with Hermes."""
    return data_text("prompts/identity.md").strip()
