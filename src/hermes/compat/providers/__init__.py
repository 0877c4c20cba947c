"""`providers`: a plugin's providers of models."""

from collections.abc import Callable
from typing import Any

from hermes.compat.providers.base import ProviderProfile
from hermes.models.catalog.catalogue import Provider, providers
from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Callable[..., Any]]:
    """The published functions, for the files of one guest."""

    def register_provider(profile: Any) -> None:
        """Add a provider of models."""
        if guest.context is None:
            raise RuntimeError("Only a plugin registers a provider of models.")
        guest.context.register_model_provider(profile)

    def list_providers() -> list[Any]:
        """The profiles of the providers that there are: ours, and those of plugins."""
        ours = {name: _profile_of(one) for name, one in providers().items()}
        added = {one.name: one for one in (guest.context.model_providers if guest.context else ())}
        return [*{**ours, **added}.values()]

    def get_provider_profile(name: str) -> Any:
        """The profile of that name or alias; None where there is none."""
        known = list_providers()
        return next((one for one in known if one.name == name), None) or next(
            (one for one in known if name in one.aliases), None
        )

    return {
        "register_provider": register_provider,
        "list_providers": list_providers,
        "get_provider_profile": get_provider_profile,
    }


def _profile_of(found: Provider) -> ProviderProfile:
    return ProviderProfile(
        name=found.name,
        api_mode=found.protocol or "chat_completions",
        aliases=found.aliases,
        display_name=found.title or found.name,
        signup_url=found.signup,
        env_vars=found.keys,
        base_url=found.base_url,
        auth_type=found.kind,
        default_headers=dict(found.headers),
        default_aux_model=found.small,
    )
