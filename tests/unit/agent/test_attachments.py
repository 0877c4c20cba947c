"""Files for a message: told apart by what is in them, refused in a sentence."""

import base64
from pathlib import Path

import pytest

from hermes.agent.attachments import LARGEST, attachment
from hermes.types.error import HermesError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
FILES = [
    ("a.png", PNG, "image/png"),
    ("a.txt", b"\xff\xd8\xff\xe0" + b"\0" * 8, "image/jpeg"),
    ("a.gif", b"GIF89a" + b"\0" * 8, "image/gif"),
    ("a.webp", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ("a.pdf", b"%PDF-1.7\n\xe2", "application/pdf"),
    ("a.py", "print('ü')\n".encode(), "text/plain"),
    ("empty", b"", "text/plain"),
]


@pytest.mark.parametrize(("name", "data", "kind"), FILES)
def test_a_file_is_what_its_bytes_say(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(data)
    found = attachment(tmp_path / name)
    assert (found.media_type, base64.b64decode(found.data), found.name) == (kind, data, name)


def test_what_cannot_be_sent_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2\xff")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(LARGEST + 1)
    said = {
        "a.bin": "is neither a picture nor a PDF nor text. A message takes pictures (PNG, JPEG, GIF, WebP),"
        " PDF and text.",
        "large": "is too large to send: 20 MB, at most 20.",
        "missing": "is no file; name a file to send.",
        ".": "is no file; name a file to send.",
    }
    for name, words in said.items():
        with pytest.raises(HermesError) as refused:
            attachment(tmp_path / name)
        assert str(refused.value) == f"{tmp_path / name} {words}"
