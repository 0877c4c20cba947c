"""The sections that every runtime has."""

from typing import TYPE_CHECKING

from hermes.agent.memory import MemorySettings
from hermes.agent.prompt.builder import SystemPrompt
from hermes.agent.prompt.context_files import ContextFiles
from hermes.agent.prompt.guidance import ModelGuidance, PlatformHint, RecordGuidance, ToolGuidance
from hermes.agent.prompt.identity import Identity
from hermes.agent.prompt.memory_block import MemoryBlock, ProviderBlock
from hermes.agent.prompt.notes import TextRules
from hermes.agent.prompt.settings import ContextFileSettings
from hermes.agent.prompt.skill_index import SkillIndex
from hermes.agent.prompt.surroundings import Date, Surroundings
from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.safety.settings import SecuritySettings
from hermes.skills.settings import SkillSettings

if TYPE_CHECKING:
    from hermes.agent.services import RuntimeServices


def standard_prompt(settings: Settings, home: Home, services: "RuntimeServices") -> SystemPrompt:
    """The prompt of a home's sessions: who the agent is, where it works, what the project's notes say."""
    files, memory, rules = settings[ContextFileSettings], settings[MemorySettings], rules_for(settings)
    return SystemPrompt(
        [
            Identity(home.soul_file, rules),
            PlatformHint(),
            Surroundings(),
            ModelGuidance(),
            RecordGuidance(),
            ToolGuidance(),
            SkillIndex(services.skills, settings[SkillSettings], services.dispatcher.registry, rules),
            ContextFiles(files, rules),
            MemoryBlock(memory.notes(home.memories), memory, rules),
            ProviderBlock(services.recall),
            Date(),
        ]
    )


def rules_for(settings: Settings) -> TextRules:
    """What a model gets of files that people wrote for agents."""
    files = settings[ContextFileSettings]
    return TextRules(
        on_hit=files.on_hit,
        allowed=frozenset(settings[SecuritySettings].allow_text),
        phrases=tuple(files.phrases),
    )


def folder_rules(settings: Settings) -> TextRules | None:
    """The same of folders that work moves into; None where these are not looked at."""
    return rules_for(settings) if settings[ContextFileSettings].mode == "layered" else None
