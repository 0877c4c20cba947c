"""`hermes_cli.plugins`: the hooks of the runtime that a plugin is loaded in."""

from types import SimpleNamespace
from typing import Any

from hermes.plugins.aliases import Guest
from hermes.plugins.context import PluginContext

__all__ = ["PluginContext"]


def published(guest: Guest) -> dict[str, Any]:
    """The published functions, for the files of one guest."""

    def has_hook(hook_name: str) -> bool:
        """Whether anything is called at a hook point."""
        return guest.context is not None and guest.context.has_hook(hook_name)

    def invoke_hook(hook_name: str, **kwargs: Any) -> list[Any]:
        """Tell the callbacks of a hook point; what they give is not told back."""
        if has_hook(hook_name):
            guest.context.tell_hook(hook_name, **kwargs)
        return []

    return {
        "discover_plugins": lambda **_: None,
        "has_hook": has_hook,
        "invoke_hook": invoke_hook,
        "get_plugin_manager": lambda: SimpleNamespace(has_hook=has_hook, invoke_hook=invoke_hook),
    }
