"""`agent.context_engine`: what a context engine of the original's form is made from."""

from abc import ABC, abstractmethod
from typing import Any

Messages = list[dict[str, Any]]


class ContextEngine(ABC):
    """What keeps a conversation within a model's window, as plugins of the original write it."""

    last_prompt_tokens = 0
    last_completion_tokens = 0
    last_total_tokens = 0
    threshold_tokens = 0
    context_length = 0
    compression_count = 0
    threshold_percent = 0.75
    protect_first_n = 3
    protect_last_n = 6

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in the settings."""

    @abstractmethod
    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Hear what a request has used."""

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether messages should be left out."""

    @abstractmethod
    def compress(
        self,
        messages: Messages,
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
        memory_context: str = "",
    ) -> Messages:
        """The messages that stay."""

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """Hear that a session begins."""

    def on_session_end(self, session_id: str, messages: Messages) -> None:
        """Hear that a session has ended."""

    def on_session_reset(self) -> None:
        """Begin anew."""
        self.last_prompt_tokens = self.last_completion_tokens = self.last_total_tokens = 0
        self.compression_count = 0

    def get_tool_schemas(self) -> Messages:
        """Its tools."""
        return []

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Run one of its tools; JSON."""
        raise NotImplementedError(f"{self.name} has no tool {name}.")

    def get_status(self) -> dict[str, Any]:
        """How full the window is."""
        return {"last_prompt_tokens": self.last_prompt_tokens, "context_length": self.context_length}

    def update_model(self, model: str, context_length: int, **kwargs: Any) -> None:
        """Hear that another model answers."""
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)
