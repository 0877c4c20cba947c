"""`agent.memory_provider`: what a memory of the original's form is made from.

`adapted_memory` makes it one of ours.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

Messages = list[dict[str, Any]]


class PublishedMemoryProvider(ABC):
    """A memory as plugins of the original write one: plain methods, messages as tables."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in the settings."""

    @abstractmethod
    def is_available(self) -> bool:
        """Whether it can be used here."""

    @abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Get ready for a session."""

    @abstractmethod
    def get_tool_schemas(self) -> Messages:
        """The tools that sessions get."""

    def system_prompt_block(self) -> str:
        """What the prompt says of it."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """What fits a message."""
        return ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Look for what the next message may need."""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Messages | None = None,
    ) -> None:
        """Learn from a turn that has ended."""

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        """Run one of its tools; JSON."""
        raise NotImplementedError(f"{self.name} has no tool {tool_name}.")

    def shutdown(self) -> None:
        """Let go of what is open."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Hear that a turn begins."""

    def on_session_end(self, messages: Messages) -> None:
        """Hear that a session has ended."""

    def on_session_switch(
        self, new_session_id: str, *, parent_session_id: str = "", reset: bool = False, **kwargs: Any
    ) -> None:
        """Hear that it goes on in another session."""

    def on_pre_compress(self, messages: Messages) -> str:
        """What is to be kept of messages that are about to be left out; nothing asks for it yet."""
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None:
        """Hear what a child has done; nothing tells it yet."""

    def get_config_schema(self) -> Messages:
        """What a person has to set."""
        return []

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Keep what a person has set."""

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Hear what was written to the notes; nothing tells it yet."""

    def backup_paths(self) -> list[str]:
        """What belongs in a backup."""
        return []


MemoryProvider = PublishedMemoryProvider
