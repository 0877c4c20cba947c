"""`agent.browser_provider`: what a provider of browsers elsewhere is made from."""

from abc import abstractmethod
from typing import Any

from hermes.compat.provider_base import PublishedProvider


class BrowserProvider(PublishedProvider):
    """Opens browsers on another machine."""

    @abstractmethod
    def create_session(self, task_id: str) -> dict[str, Any]:
        """Open one; how it is reached."""

    @abstractmethod
    def close_session(self, session_id: str) -> bool:
        """Close one; whether it was there."""

    def emergency_cleanup(self, session_id: str) -> None:
        """Close one when the program ends."""
        self.close_session(session_id)
