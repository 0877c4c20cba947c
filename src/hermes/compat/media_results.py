"""What the published makers of pictures and videos give and keep."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2

from hermes.lib.files import write_atomic

_SUFFIXES: Final = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "video/mp4": "mp4",
    "video/webm": "webm",
}
_SECONDS: Final = 120.0


def success_response(**told: Any) -> dict[str, Any]:
    """What a maker gives: its result, and what it was made from."""
    extra = told.pop("extra", None) or {}
    return {"success": True, **told, **{name: value for name, value in extra.items() if name not in told}}


def error_response(*, error: str, error_type: str = "provider_error", **told: Any) -> dict[str, Any]:
    """What a maker gives that has failed."""
    return {"success": False, "error": error, "error_type": error_type, **told}


def savers(folder: Path, kind: str, suffix: str, most: int) -> dict[str, Callable[..., Path]]:
    """The functions that keep a result in a folder of the home."""

    def save_bytes(raw: bytes, *, prefix: str = kind, extension: str = suffix) -> Path:
        place = (
            folder
            / f"{Path(prefix).name}_{hashlib.sha256(raw).hexdigest()[:12]}.{Path(extension).name.lstrip('.')}"
        )
        write_atomic(place, raw)
        return place

    def save_b64(data: str, *, prefix: str = kind, extension: str = suffix) -> Path:
        return save_bytes(base64.b64decode(data), prefix=prefix, extension=extension)

    def save_url(url: str, *, prefix: str = kind, timeout: float = _SECONDS, max_bytes: int = most) -> Path:
        with httpx2.stream("GET", url, timeout=timeout, follow_redirects=True) as response:
            response.raise_for_status()
            raw = b""
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > max_bytes:
                    raise ValueError(f"{url} has more than {max_bytes:,} bytes.")
            media = response.headers.get("content-type", "").partition(";")[0]
        return save_bytes(raw, prefix=prefix, extension=_SUFFIXES.get(media, suffix))

    return {f"save_bytes_{kind}": save_bytes, f"save_b64_{kind}": save_b64, f"save_url_{kind}": save_url}
