"""Images that a server found too large, made smaller; needs the extra `images`."""

import base64
import io
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from hermes.lib.lazy import Missing, import_object
from hermes.types.message import Attachment, Message, ToolResult, User

LONGEST_SIDE, MOST_BYTES = 1568, 3_500_000


def smaller(message: Message) -> Message:
    """The message with every large image scaled down; the same object when it has none."""
    match message:
        case User(attachments=images) if images:
            return replace(message, attachments=tuple(_fitting(one) for one in images))
        case ToolResult(images=images) if images:
            return replace(message, images=tuple(_fitting(one) for one in images))
        case _:
            return message


@lru_cache(maxsize=64)
def _fitting(image: Attachment) -> Attachment:
    """An image within the limits; what cannot be scaled stays as it is, and the server's word on it
    stands.
    """
    if not image.media_type.startswith("image/"):
        return image
    try:
        opened: Any = import_object("PIL.Image:open", extra="images")(
            io.BytesIO(base64.b64decode(image.data))
        )
        if max(opened.size) <= LONGEST_SIDE and len(image.data) * 3 // 4 <= MOST_BYTES:
            return image
        opened.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        written = io.BytesIO()
        opened.convert("RGB").save(written, format="JPEG", quality=85)
        return replace(image, media_type="image/jpeg", data=base64.b64encode(written.getvalue()).decode())
    except (Missing, OSError, ValueError):
        return image
