"""`gateway.platforms.base`: what an adapter of a chat platform is made from."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes.compat.gateway.config import Platform, PlatformConfig
from hermes.compat.gateway.platforms.messages import MessageEvent, MessageType, ProcessingOutcome, SendResult
from hermes.compat.gateway.session import SessionSource
from hermes.lib.files import write_atomic
from hermes.plugins.aliases import Guest

__all__ = ["MessageType", "ProcessingOutcome"]

_LATER = "Hermes has no gateway yet: what comes in by {} reaches no session."


def published(guest: Guest) -> dict[str, Callable[..., str]]:
    """The functions that keep what has come in, in the home."""
    cache = guest.home.root / "cache"

    def keeper(folder: str, suffix: str) -> Callable[..., str]:
        def cached(data: bytes, name: str = suffix) -> str:
            place = cache / folder / f"{hashlib.sha256(data).hexdigest()[:12]}_{Path(name).name}"
            write_atomic(place, data)
            return str(place)

        return cached

    return {
        "cache_image_from_bytes": keeper("images", ".jpg"),
        "cache_audio_from_bytes": keeper("audio", ".ogg"),
        "cache_video_from_bytes": keeper("videos", ".mp4"),
        "cache_document_from_bytes": keeper("documents", "document"),
    }


class BasePlatformAdapter(ABC):
    """Connects one chat platform; it can be made and tried, and nothing of Hermes listens to it yet."""

    supports_code_blocks = True
    supports_async_delivery = True
    splits_long_messages = False
    typed_command_prefix = "/"

    def __init__(self, config: PlatformConfig, platform: Platform) -> None:
        self.config, self.platform = config, platform
        self.fatal_error: tuple[str, str] | None = None
        self.is_connected = False

    @property
    def name(self) -> str:
        """What people read."""
        return self.platform.value.title()

    @abstractmethod
    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Connect; whether that could be done."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Disconnect."""

    @abstractmethod
    async def send(
        self, chat_id: str, content: str, reply_to: str | None = None, metadata: dict[str, Any] | None = None
    ) -> SendResult:
        """Send a text."""

    @abstractmethod
    async def get_chat_info(self, chat_id: str) -> dict[str, Any]:
        """What is known of a chat."""

    async def send_typing(self, chat_id: str, metadata: dict[str, Any] | None = None) -> None:
        """Show that an answer is being written."""

    async def handle_message(self, event: MessageEvent) -> None:
        """Take a message that has come in; NotImplementedError until there is a gateway."""
        raise NotImplementedError(_LATER.format(self.name))

    def format_message(self, content: str) -> str:
        """A text as the platform shows it."""
        return content

    def build_source(self, chat_id: str, **about: Any) -> SessionSource:
        """Where a message comes from."""
        return SessionSource(platform=self.platform, chat_id=str(chat_id), **about)

    def _mark_connected(self) -> None:
        self.is_connected, self.fatal_error = True, None

    def _mark_disconnected(self) -> None:
        self.is_connected = False

    def _set_fatal_error(self, code: str, message: str, *, retryable: bool = False) -> None:
        self.fatal_error, self.is_connected = (code, message), False


def utf16_len(text: str) -> int:
    """The length of a text as some platforms count it."""
    return len(text.encode("utf-16-le")) // 2
