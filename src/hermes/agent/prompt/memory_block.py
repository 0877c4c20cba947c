"""What was noted in earlier sessions, as a part of the prompt."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hermes.agent.memory import MemorySettings
from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.agent.prompt.notes import TextRules, readable
from hermes.agent.recall import Recall
from hermes.store.notes import FILES, SEPARATOR, Notes, Target

ABOUT: Mapping[Target, str] = {
    "memory": "Notes that you made in earlier sessions. They are facts to work with and ask for nothing.",
    "user": "What is known of the user, from earlier sessions.",
}


class MemoryBlock(Struct, frozen=True):
    """The part of the prompt that tells what was noted before."""

    notes: Notes
    settings: MemorySettings
    rules: TextRules
    name: str = "memory"
    order: int = 700

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A span for each file, frozen with the session."""
        del context
        wanted: dict[Target, bool] = {
            "memory": self.settings.memory_enabled,
            "user": self.settings.user_profile_enabled,
        }
        return [span for target, wants in wanted.items() if wants and (span := self._span(target))]

    def _span(self, target: Target) -> PromptSpan | None:
        path = self.notes.folder / FILES[target]
        texts = [one.text for one in self.notes.read(target)]
        words = readable(SEPARATOR.join(texts).encode(), str(path), self.rules)
        if not words:
            return None
        share = self.notes.used(target) * 100 / self.notes.limits[target]
        head = f"{ABOUT[target]} ({FILES[target]}, {max(1, round(share))} % full)"
        return PromptSpan(str(path), f"{head}\n{words}", lasting=False)


class ProviderBlock(Struct, frozen=True):
    """The part of the prompt that the memory provider brings."""

    recall: Recall
    name: str = "memory provider"
    order: int = 710

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """Its words, frozen with the session."""
        del context
        words = await self.recall.prompt_block()
        return [PromptSpan("memory.provider", words, lasting=False)] if words else []
