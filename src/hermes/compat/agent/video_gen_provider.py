"""`agent.video_gen_provider`: what a maker of videos is made from."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hermes.compat.media_results import error_response, savers, success_response
from hermes.compat.provider_base import PublishedProvider
from hermes.plugins.aliases import Guest

__all__ = ["error_response", "success_response"]

DEFAULT_ASPECT_RATIO: Final = "16:9"
DEFAULT_RESOLUTION: Final = "720p"
_MOST: Final = 200 * 1024 * 1024


def published(guest: Guest) -> dict[str, Callable[..., Path]]:
    """The functions that keep videos in the home."""
    return savers(guest.home.root / "cache" / "videos", "video", "mp4", _MOST)


class VideoGenProvider(PublishedProvider):
    """Makes videos."""

    def capabilities(self) -> dict[str, Any]:
        """What it can do."""
        return {"modalities": ["text"], "max_reference_images": 0}

    @abstractmethod
    def generate(self, prompt: str, **wanted: Any) -> dict[str, Any]:
        """Make one; as `success_response` or `error_response` gives it."""
