"""`agent.transcription_provider`: what a provider of transcripts is made from."""

from abc import abstractmethod
from typing import Any

from hermes.compat.provider_base import PublishedProvider


class TranscriptionProvider(PublishedProvider):
    """Writes down what is said in a file."""

    @abstractmethod
    def transcribe(
        self, file_path: str, *, model: str | None = None, language: str | None = None, **extra: Any
    ) -> dict[str, Any]:
        """The text: `{"success": True, "transcript": "..."}`."""
