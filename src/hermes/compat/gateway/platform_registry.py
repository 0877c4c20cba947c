"""`gateway.platform_registry`: the platforms that a plugin brings."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, structs

from hermes.plugins.aliases import Guest


class PlatformEntry(Struct, kw_only=True):
    """A platform as a plugin describes it."""

    name: str
    label: str
    adapter_factory: Callable[..., Any]
    check_fn: Callable[[], object]
    validate_config: Callable[..., Any] | None = None
    is_connected: Callable[..., Any] | None = None
    required_env: Sequence[str] = ()
    install_hint: str = ""
    setup_fn: Callable[..., Any] | None = None
    source: str = "plugin"
    plugin_name: str = ""
    allowed_users_env: str = ""
    allow_all_env: str = ""
    max_message_length: int = 0
    pii_safe: bool = False
    emoji: str = ""
    allow_update_command: bool = True
    platform_hint: str = ""
    env_enablement_fn: Callable[..., Any] | None = None
    apply_yaml_config_fn: Callable[..., Any] | None = None
    cron_deliver_env_var: str = ""
    standalone_sender_fn: Callable[..., Any] | None = None


class _PlatformRegistry:
    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._entries: dict[str, PlatformEntry] = {}

    def register(self, entry: PlatformEntry) -> None:
        """Keep a platform for the gateway, which is not there yet."""
        if self._guest.context is None:
            raise RuntimeError("Only a plugin registers a platform.")
        self._guest.context.register_platform(**structs.asdict(entry))
        self._entries[entry.name] = entry

    def get(self, name: str) -> PlatformEntry | None:
        """The platform of a name that this plugin has registered."""
        return self._entries.get(name)

    def is_registered(self, name: str) -> bool:
        """Whether this plugin has registered it."""
        return name in self._entries

    def all_entries(self) -> list[PlatformEntry]:
        """Those that this plugin has registered."""
        return [*self._entries.values()]


def published(guest: Guest) -> dict[str, Any]:
    """The registry, for the files of one guest."""
    return {"platform_registry": _PlatformRegistry(guest)}
