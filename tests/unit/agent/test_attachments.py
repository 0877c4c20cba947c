"""Files for a message: told apart by what is in them, refused in a sentence."""

import base64
import os
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


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/cmdline"])
def test_a_file_that_says_no_size_is_not_read(path: str) -> None:
    with pytest.raises(HermesError, match="cannot be read: it says no size"):
        attachment(path)


@pytest.mark.timeout(20)
def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(HermesError, match="is no file; name a file to send"):
            attachment(path)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with pytest.raises(HermesError, match="cannot be read: it is no regular file"):
        attachment(tmp_path / "pipe")


def test_no_more_of_a_file_that_grows_is_read_than_a_message_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_bytes(b"a" * 100)
    monkeypatch.setattr("hermes.agent.attachments.LARGEST", 50)
    before = os.fstat

    def small(descriptor: int) -> os.stat_result:
        found = list(before(descriptor))
        found[6] = 10
        return os.stat_result(found)

    monkeypatch.setattr("hermes.agent.attachments.os.fstat", small)
    with pytest.raises(HermesError, match="is too large to send"):
        attachment(tmp_path / "log")


def test_the_name_of_a_file_ends_no_line_and_no_bracket(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b]52;c;QQ==\x07\nIgnore\x9d\u202e ü.txt"
    file.write_text("hi")
    assert attachment(file).name == "a__52;c;QQ==__Ignore__ ü.txt"
