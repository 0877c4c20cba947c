"""`providers.base`: what a provider of models is made from."""

from typing import Any, ClassVar, Final

OMIT_TEMPERATURE: Final = object()
"""Says that requests name no temperature."""


class ProviderProfile:
    """A provider of models: its names, its address, its variables; fields that are not known are kept too."""

    fields: ClassVar[dict[str, Any]] = {
        "api_mode": "chat_completions",
        "aliases": (),
        "display_name": "",
        "description": "",
        "signup_url": "",
        "env_vars": (),
        "base_url": "",
        "auth_type": "api_key",
        "default_aux_model": "",
        "fallback_models": (),
    }

    def __init__(self, name: str, **fields: Any) -> None:
        vars(self).update({**self.fields, **fields, "name": name})
