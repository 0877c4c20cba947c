"""Between a file's bytes and its text: byte order mark, line ends, and bytes that are no UTF-8 survive an
edit.
"""

from typing import Final

from msgspec import Struct

_BOM: Final = "\ufeff"
_SNIFF: Final = 8_192
_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")


class Form(Struct, frozen=True):
    """How a file writes its text."""

    bom: bool = False
    crlf: bool = False


def is_image(data: bytes) -> bool:
    """Whether the first bytes are those of a common image format."""
    return (data.startswith(_IMAGES) and b"\0" in data[:_SNIFF]) or (
        data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    )


def is_binary(data: bytes) -> bool:
    """Whether the content is no text: a NUL byte, or many control characters, near the start."""
    start = data[:_SNIFF]
    if b"\0" in start:
        return True
    control = sum(1 for byte in start if byte < 32 and byte not in b"\t\n\r\f\b\x1b")
    return control * 10 > len(start)


def decode(data: bytes) -> tuple[str, Form]:
    """The text with plain newlines and without a mark, and the form to write it back in."""
    text = data.decode("utf-8", "surrogateescape")
    bom = text.startswith(_BOM)
    crlf = 2 * text.count("\r\n") > text.count("\n")
    text = text.removeprefix(_BOM)
    return (text.replace("\r\n", "\n") if crlf else text), Form(bom=bom, crlf=crlf)


def encode(text: str, form: Form) -> bytes:
    """The bytes of a text in a form; a text that has its own mark or line ends keeps them."""
    if form.crlf and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    if form.bom and not text.startswith(_BOM):
        text = _BOM + text
    return text.encode("utf-8", "surrogateescape")
