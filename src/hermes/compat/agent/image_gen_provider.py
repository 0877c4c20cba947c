"""`agent.image_gen_provider`: what a maker of pictures is made from."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from hermes.compat.media_results import error_response, savers, success_response
from hermes.compat.provider_base import PublishedProvider
from hermes.plugins.aliases import Guest

__all__ = ["error_response", "success_response"]

DEFAULT_ASPECT_RATIO: Final = "landscape"
VALID_ASPECT_RATIOS: Final = ("landscape", "square", "portrait")
_MOST: Final = 25 * 1024 * 1024


def published(guest: Guest) -> dict[str, Callable[..., Path]]:
    """The functions that keep pictures in the home."""
    return savers(guest.home.root / "cache" / "images", "image", "png", _MOST)


def resolve_aspect_ratio(value: str | None) -> str:
    """One of the three forms of a picture."""
    word = str(value or "").strip().lower()
    return word if word in VALID_ASPECT_RATIOS else DEFAULT_ASPECT_RATIO


def normalize_reference_images(value: str | Sequence[str] | None) -> list[str]:
    """Addresses or paths of pictures, without empty ones."""
    given = [value] if isinstance(value, str) else value or []
    return [str(one).strip() for one in given if str(one).strip()]


class ImageGenProvider(PublishedProvider):
    """Makes pictures."""

    def capabilities(self) -> dict[str, Any]:
        """What it can do."""
        return {"modalities": ["text"], "max_reference_images": 0}

    @abstractmethod
    def generate(
        self,
        prompt: str,
        aspect_ratio: str = DEFAULT_ASPECT_RATIO,
        *,
        image_url: str | None = None,
        reference_image_urls: list[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Make one; as `success_response` or `error_response` gives it."""
