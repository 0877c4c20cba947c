"""Which skills there are, as a part of the prompt."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.agent.prompt.notes import TextRules, readable
from hermes.skills.conditions import Surface, of_use
from hermes.skills.index import categories_text, index_text
from hermes.skills.library import SkillLibrary
from hermes.skills.settings import SkillSettings
from hermes.tools.registry import ToolRegistry
from hermes.tools.toolsets import resolve
from hermes.types.error import ConfigError

FRAME: Final = (
    "# Skills\nProcedures by category. When one fits what is asked, even in part, load it with skill_view"
    " first and follow it: it knows commands and pitfalls that you do not."
)


def surface_of(tools: frozenset[str], registry: ToolRegistry, *, remote: bool) -> Surface:
    """What decides which skills are of use where these tools are on offer."""

    def has_toolset(name: str) -> bool:
        with suppress(ConfigError):  # nobody knows it
            return not tools.isdisjoint(resolve(name, registry))
        return False

    return Surface(platform="remote" if remote else sys.platform, tools=tools, has_toolset=has_toolset)


class SkillIndex(Struct, frozen=True):
    """The part of the prompt that tells which skills there are."""

    library: SkillLibrary
    settings: SkillSettings
    registry: ToolRegistry
    rules: TextRules
    name: str = "skills"
    order: int = 450

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """The index, where skills can be read; frozen with the session."""
        if "skill_view" not in context.tools or self.settings.index == "off":
            return []
        surface = surface_of(context.tools, self.registry, remote=context.place.remote)
        skills = of_use(self.library.skills(), surface)
        if not skills:
            return []
        write = categories_text if self.settings.index == "categories" else index_text
        words = readable(write(skills).encode(), "skills", self.rules)
        return [PromptSpan("skills", f"{FRAME}\n\n{words}")]
