"""`agent.tts_provider`: what a provider of speech is made from."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Final

from hermes.compat.provider_base import PublishedProvider

DEFAULT_OUTPUT_FORMAT: Final = "mp3"


class TTSProvider(PublishedProvider):
    """Speaks a text."""

    @property
    def voice_compatible(self) -> bool:
        """Whether what it makes can be sent as a voice message."""
        return False

    @abstractmethod
    def synthesize(
        self,
        text: str,
        output_path: str,
        *,
        voice: str | None = None,
        model: str | None = None,
        speed: float | None = None,
        format: str = DEFAULT_OUTPUT_FORMAT,
        **extra: Any,
    ) -> str:
        """Write the sound to a file; its path."""

    def stream(self, text: str, **extra: Any) -> Iterator[bytes]:
        """The sound as it comes."""
        raise NotImplementedError(f"{self.name} gives whole files only.")

    def list_voices(self) -> list[dict[str, Any]]:
        """Its voices."""
        return []
