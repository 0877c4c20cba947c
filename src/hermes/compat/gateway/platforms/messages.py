"""What chat platforms of the original's form exchange."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from hermes.compat.gateway.session import SessionSource


class MessageType(StrEnum):
    """What a message is."""

    TEXT = "text"
    LOCATION = "location"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"
    STICKER = "sticker"
    COMMAND = "command"


class ProcessingOutcome(StrEnum):
    """How the answer to a message ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


class MessageEvent(Struct, kw_only=False):
    """A message that has come in."""

    text: str
    message_type: MessageType = MessageType.TEXT
    source: SessionSource | None = None
    raw_message: Any = None
    message_id: str | None = None
    platform_update_id: int | None = None
    media_urls: list[str] = field(default_factory=list)
    media_types: list[str] = field(default_factory=list)
    reply_to_message_id: str | None = None
    reply_to_text: str | None = None
    reply_to_author_id: str | None = None
    reply_to_author_name: str | None = None
    reply_to_is_own_message: bool = False
    auto_skill: Any = None
    channel_prompt: str | None = None
    channel_context: str | None = None
    internal: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))


class SendResult(Struct, kw_only=False):
    """What became of a message that was sent."""

    success: bool
    message_id: str | None = None
    error: str | None = None
    raw_response: Any = None
    retryable: bool = False
    retry_after: float | None = None
    continuation_message_ids: tuple[str, ...] = ()
    error_kind: str | None = None
