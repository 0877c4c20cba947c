"""`providers.base`: what a provider of models is made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx2

from hermes.models.catalog.context_limits import names_in

OMIT_TEMPERATURE: Final = object()
"""Says that requests name no temperature."""
F = TypeVar("F", bound=Callable[..., Any])


def _published(method: F) -> F:
    """Mark a method that nobody has to call as long as no subclass has its own."""
    vars(method)["is_published"] = True
    return method


@dataclass(init=False)
class ProviderProfile:
    """A provider of models: its names, its address, its variables; fields that are not known are kept too.

    Subclasses may have methods of their own, which have a say in each chat completion.
    """

    name: str = ""
    api_mode: str = "chat_completions"
    aliases: tuple[str, ...] = ()
    display_name: str = ""
    description: str = ""
    signup_url: str = ""
    env_vars: tuple[str, ...] = ()
    base_url: str = ""
    models_url: str = ""
    auth_type: str = "api_key"
    supports_health_check: bool = True
    supports_vision: bool | None = None
    supports_vision_tool_messages: bool = True
    fallback_models: tuple[str, ...] = ()
    hostname: str = ""
    default_headers: dict[str, str] = field(default_factory=dict)
    fixed_temperature: Any = None
    default_max_tokens: int | None = None
    default_aux_model: str = ""

    def __init__(self, name: str = "", **given: Any) -> None:
        made = {one.name: one.default_factory() for one in fields(self) if callable(one.default_factory)}
        vars(self).update({**made, **given}, name=name or type(self).name)

    @_published
    def get_hostname(self) -> str:
        """The host of its address."""
        return self.hostname or urlsplit(self.base_url).hostname or ""

    @_published
    def prepare_messages(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages of a request as it wants them."""
        return messages

    @_published
    def build_extra_body(self, *, session_id: str | None = None, **context: Any) -> dict[str, Any]:
        """Fields for the body of every request."""
        del session_id, context
        return {}

    @_published
    def build_api_kwargs_extras(
        self, *, reasoning_config: Mapping[str, Any] | None = None, **context: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields for the body that depend on how hard to think, in two parts."""
        del reasoning_config, context
        return {}, {}

    @_published
    def get_max_tokens(self, model: str | None = None) -> int | None:
        """The longest reply of a model where nobody says."""
        del model
        return self.default_max_tokens

    @_published
    def default_vision_model(self) -> str | None:
        """A model that sees, where there is a usual one."""
        return None

    @_published
    def fetch_models(
        self, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 8.0
    ) -> list[str] | None:
        """The names of the models that its server lists; None where it does not."""
        place = self.models_url or f"{(base_url or self.base_url).rstrip('/')}/models"
        headers = {**self.default_headers, **({"authorization": f"Bearer {api_key}"} if api_key else {})}
        try:
            answer = httpx2.get(place, headers=headers, timeout=timeout)
            return [*names_in(answer.json())] if answer.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
            return None
