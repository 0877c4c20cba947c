"""A file's form survives an edit; faults are found by language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.edit.lint import fault
from hermes.lib.edit.textfile import Form, decode, encode, is_binary, is_image
from hermes.lib.secretnames import is_secret_name


@given(st.binary(max_size=200))
def test_bytes_come_back_as_they_were_unless_line_ends_are_mixed(data: bytes) -> None:
    text, form = decode(data)
    if not form.crlf or (
        data.count(b"\n") == data.count(b"\r\n") and b"\r\n" not in text.encode("utf-8", "surrogateescape")
    ):
        assert encode(text, form) == data


def test_marks_and_line_ends_are_kept() -> None:
    text, form = decode(b"\xef\xbb\xbfa\r\nb\r\n")
    assert (text, form) == ("a\nb\n", Form(bom=True, crlf=True))
    assert encode("a\nc\n", form) == b"\xef\xbb\xbfa\r\nc\r\n"
    assert encode("x\r\ny\n", Form()) == b"x\r\ny\n"


def test_content_says_what_is_no_text() -> None:
    assert is_binary(b"a\0b")
    assert is_binary(bytes(range(1, 9)) * 20)
    assert not is_binary(b"text\x1b[31m\n" * 20)
    assert not is_binary("é ü 漢字".encode())
    assert not is_binary(b"")
    assert is_image(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert not is_image(b"BMW is a car")


@pytest.mark.parametrize(
    ("path", "good", "bad", "said"),
    [
        ("a.py", "x = '\\d'\n", "def f(:\n", "line 1"),
        ("a.json", '{"a": 1}', '{"a": }', "line 1 column 7"),
        ("a.toml", "a = 1\n", "a = \n", "line 1"),
        ("a.yaml", "a: 1\n---\nb: [1, 2]\n", "a: [1\n", "line 2"),
        ("A.YML", "a: !custom x\n", "a: 'x\n", "line 2"),
    ],
)
def test_faults_are_found(path: str, good: str, bad: str, said: str) -> None:
    assert fault(path, good) == ""
    assert said in (fault(path, bad) or "")
    assert fault("a.txt", bad) is None


def test_names_of_credentials() -> None:
    secret = [
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "DB_PASSWORD",
        "password",
        "SECRET_THING",
        "GITHUB_PAT",
    ]
    plain = [
        "MAX_TOKENS",
        "TOKENIZER",
        "PATH",
        "KEYBOARD",
        "SECRETARY",
        "PASSENGER",
        "TOTAL_TOKENS",
        "MONKEY",
        "PATTERN",
    ]
    assert [name for name in secret if not is_secret_name(name)] == []
    assert [name for name in plain if is_secret_name(name)] == []
