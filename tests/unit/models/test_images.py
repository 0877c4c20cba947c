"""Images that a server found too large."""

import base64
import io

from PIL import Image

from hermes.models.reliability.images import LONGEST_SIDE, smaller
from hermes.types.message import Assistant, Attachment, ToolResult, User


def picture(width: int, height: int, form: str = "PNG") -> Attachment:
    written = io.BytesIO()
    Image.new("RGBA" if form == "PNG" else "RGB", (width, height), "red").save(written, form)
    return Attachment(
        media_type=f"image/{form.lower()}", data=base64.b64encode(written.getvalue()).decode(), name="a"
    )


def size(image: Attachment) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(image.data))).size


def test_large_images_of_users_and_tools_are_scaled_and_keep_their_form() -> None:
    user = smaller(User(id="u", at=0, text="look", attachments=(picture(4000, 2000), picture(10, 10))))
    assert isinstance(user, User)
    assert [size(one) for one in user.attachments] == [(LONGEST_SIDE, LONGEST_SIDE // 2), (10, 10)]
    assert [one.media_type for one in user.attachments] == ["image/jpeg", "image/png"]
    result = smaller(
        ToolResult(id="r", at=0, call_id="c", name="x", content="", images=(picture(2000, 2000, "JPEG"),))
    )
    assert isinstance(result, ToolResult)
    assert size(result.images[0]) == (LONGEST_SIDE, LONGEST_SIDE)


def test_what_is_no_image_and_what_cannot_be_read_stays_as_it_is() -> None:
    reply = Assistant(id="a", at=0, text="x")
    assert smaller(reply) is reply
    odd = User(
        id="u",
        at=0,
        text="",
        attachments=(
            Attachment(media_type="image/png", data="bm9wZQ=="),
            Attachment(media_type="application/pdf", data="AA=="),
        ),
    )
    assert smaller(odd) == odd
