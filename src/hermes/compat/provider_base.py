"""What the published classes of providers share."""

from abc import ABC, abstractmethod
from typing import Any


class PublishedProvider(ABC):
    """A provider that plugins register; the part of Hermes that asks for it may come later."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What settings call it."""

    @property
    def display_name(self) -> str:
        """What people read."""
        return self.name.replace("-", " ").replace("_", " ").title()

    def is_available(self) -> bool:
        """Whether it can be used here."""
        return True

    def list_models(self) -> list[dict[str, Any]]:
        """Its models."""
        return []

    def default_model(self) -> str | None:
        """The model that is used where none is named."""
        models = self.list_models()
        return str(models[0]["id"]) if models else None

    def get_setup_schema(self) -> dict[str, Any]:
        """What a person has to set."""
        return {"name": self.display_name, "badge": "", "tag": "", "env_vars": []}
