"""Providers of models that plugins bring: as data like all others, with code that has a say in requests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from hermes.types.request import Request

if TYPE_CHECKING:
    from hermes.models.catalog.catalogue import Provider


class ProviderCode(Protocol):
    """What a plugin does for its provider; each method raises UnshapedError where that fails."""

    @property
    def plugin(self) -> str:
        """The plugin's key."""

    @property
    def lists(self) -> bool:
        """Whether it tells the provider's models by itself."""

    @property
    def shapes(self) -> bool:
        """Whether it has a say in requests."""

    async def shaped(self, body: Mapping[str, Any], request: Request, session_id: str) -> dict[str, Any]:
        """The body of a chat completion as the provider wants it."""

    async def listed(self, key: str, base_url: str) -> tuple[str, ...]:
        """The names of the models that the provider serves now."""


class PluginProviders(Struct):
    """The providers of one runtime's plugins by name: a section of its settings that no file has."""

    by_name: "dict[str, Provider]" = field(default_factory=dict)

    def code_of(self, name: str) -> ProviderCode | None:
        """The code of a plugin's provider; None for all others, and where there is none."""
        found = self.by_name.get(name)
        return found.code if found else None
