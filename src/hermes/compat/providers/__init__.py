"""`providers`: a plugin's providers of models."""

from collections.abc import Callable
from typing import Any

from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Callable[[Any], None]]:
    """The published function, for the files of one guest."""

    def register_provider(profile: Any) -> None:
        """Keep a provider of models. Nothing asks for it yet: `providers` in config.yaml adds one."""
        if guest.context is None:
            raise RuntimeError("Only a plugin registers a provider of models.")
        guest.context.keep("model_provider", profile.name, profile)

    return {"register_provider": register_provider}
