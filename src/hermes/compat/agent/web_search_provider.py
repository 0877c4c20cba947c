"""`agent.web_search_provider`: what a provider of searches and pages is made from."""

from collections.abc import Callable
from typing import Any

from hermes.compat.provider_base import PublishedProvider
from hermes.config.environ import with_dotenv
from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Callable[[str], str]]:
    """The function that is about a home: a variable of it, or "" where it is not set."""
    return {
        "get_provider_env": lambda name: with_dotenv(guest.environ, guest.home.env_file).get(name, "").strip()
    }


class WebSearchProvider(PublishedProvider):
    """Searches the web, reads pages, or both."""

    def supports_search(self) -> bool:
        """Whether it searches."""
        return True

    def supports_extract(self) -> bool:
        """Whether it reads pages."""
        return False

    def search(self, query: str, limit: int = 5) -> dict[str, Any]:
        """What was found: `{"success": True, "data": {"web": [...]}}`."""
        raise NotImplementedError(f"{self.name} does not search.")

    def extract(self, urls: list[str], **kwargs: Any) -> Any:
        """The text of pages."""
        raise NotImplementedError(f"{self.name} does not read pages.")
