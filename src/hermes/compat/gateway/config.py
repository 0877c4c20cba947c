"""`gateway.config`: chat platforms and their settings. There is no gateway yet: none is set up."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field


class Platform(StrEnum):
    """A chat platform; a name that is not listed is one too."""

    LOCAL = "local"
    TELEGRAM = "telegram"
    DISCORD = "discord"
    SLACK = "slack"
    WHATSAPP = "whatsapp"
    SIGNAL = "signal"
    MATRIX = "matrix"
    MATTERMOST = "mattermost"
    EMAIL = "email"
    SMS = "sms"
    HOMEASSISTANT = "homeassistant"
    DINGTALK = "dingtalk"
    FEISHU = "feishu"
    WECOM = "wecom"
    TEAMS = "teams"
    LINE = "line"
    IRC = "irc"
    API_SERVER = "api_server"
    WEBHOOK = "webhook"

    @classmethod
    def _missing_(cls, value: object) -> "Platform":
        word = str(value).strip().lower()
        known = cls._value2member_map_.get(word)
        if isinstance(known, cls):
            return known
        made = str.__new__(cls, word)
        made._name_, made._value_ = word.upper(), word
        cls._value2member_map_[word] = made
        return made


class HomeChannel(Struct, kw_only=True):
    """Where a platform is told what nobody has asked for."""

    platform: Platform
    chat_id: str
    name: str = ""
    thread_id: str | None = None


class PlatformConfig(Struct, kw_only=True):
    """The settings of one platform."""

    enabled: bool = False
    token: str | None = None
    api_key: str | None = None
    home_channel: HomeChannel | None = None
    reply_to_mode: str = "first"
    gateway_restart_notification: bool = True
    typing_indicator: bool = True
    typing_status_text: str = ""
    channel_overrides: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


class GatewayConfig(Struct, kw_only=True):
    """The settings of all platforms."""

    platforms: dict[Platform, PlatformConfig] = field(default_factory=dict)


def load_gateway_config() -> GatewayConfig:
    """The platforms that are set up: none."""
    return GatewayConfig()
