"""`gateway.session`: where a message of a chat platform comes from."""

from msgspec import Struct

from hermes.compat.gateway.config import Platform


class PublishedSessionSource(Struct, kw_only=True):
    """A chat, and who speaks in it."""

    platform: Platform
    chat_id: str
    chat_name: str | None = None
    chat_type: str = "dm"
    user_id: str | None = None
    user_name: str | None = None
    thread_id: str | None = None
    chat_topic: str | None = None
    user_id_alt: str | None = None
    chat_id_alt: str | None = None
    is_bot: bool = False
    scope_id: str | None = None
    guild_id: str | None = None
    parent_chat_id: str | None = None
    message_id: str | None = None
    role_authorized: bool = False
    profile: str | None = None
    auto_thread_created: bool = False


SessionSource = PublishedSessionSource


def build_session_key(
    source: SessionSource,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
    profile: str = "main",
) -> str:
    """What the messages of one conversation share."""
    parts = ["agent", profile, str(source.platform), source.chat_type, source.chat_id]
    if source.thread_id:
        parts.append(source.thread_id)
    is_own = thread_sessions_per_user if source.thread_id else group_sessions_per_user
    if source.chat_type != "dm" and is_own and source.user_id:
        parts.append(source.user_id)
    return ":".join(parts)
