"""A known secret is found in what programs make of it: dumps, escapes, codes, and these one after the other."""

import base64
import binascii
import json
import quopri
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.secretvalues import MASK, SecretValues

SECRET = "Zq8/x+W-unlikely=0193Lm"


def xxd(data: bytes) -> str:
    rows = [data[at : at + 16] for at in range(0, len(data), 16)]
    return "".join(
        f"{number * 16:08x}: {' '.join(row[at : at + 2].hex() for at in range(0, len(row), 2)):<39}  {''.join(chr(one) if 32 <= one < 127 else '.' for one in row)}\n"
        for number, row in enumerate(rows)
    )


def canonical(data: bytes) -> str:
    rows = [data[at : at + 16] for at in range(0, len(data), 16)]
    return "".join(
        f"{number * 16:08x}  {' '.join(f'{one:02x}' for one in row):<48}  |{row.decode('latin-1')}|\n"
        for number, row in enumerate(rows)
    )


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


DISGUISES: dict[str, Callable[[str], str]] = {
    "terminal codes": lambda text: f"\x1b[31m{text[:7]}\x1b[0m\x1b[1;32m{text[7:]}\x1b[0m",
    "a code for each letter": lambda text: "".join(
        f"\x1b[3{at % 8}m{letter}" for at, letter in enumerate(text)
    ),
    "percent codes in parts": lambda text: (
        text[:5] + "".join(f"%{ord(letter):02X}" for letter in text[5:9]) + text[9:]
    ),
    "percent codes throughout": lambda text: "".join(f"%{ord(letter):02x}" for letter in text),
    "percent codes twice": lambda text: quote(quote(text, safe=""), safe=""),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "quoted-printable, broken": lambda text: f"{text[:9]}=\n{text[9:]}".replace("y=0", "y=3D0"),
    "unicode escapes": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "byte escapes in parts": lambda text: text[:4] + "".join(f"\\x{ord(letter):02x}" for letter in text[4:]),
    "character references": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "base64 twice": lambda text: coded(coded(text)),
    "base64 with words around, twice": lambda text: coded("x" + coded(f"user:{text}@host")),
    "base64 of JSON": lambda text: coded(json.dumps({"password": text})),
    "xxd": lambda text: xxd(f"some words {text} and more".encode()),
    "hexdump": lambda text: canonical(f"abc {text} def".encode()),
    "spaced bytes": lambda text: text.encode().hex(" "),
    "bytes with colons": lambda text: text.encode().hex(":"),
    "grouped bytes": lambda text: binascii.hexlify(text.encode(), " ", 4).decode(),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_secret_in_disguise_is_hidden(name: str) -> None:
    worn = DISGUISES[name](SECRET)
    left = SecretValues(SECRET).redact(f"before\n{worn}\nafter")
    assert MASK in left
    assert worn.strip() not in left
    assert left.startswith("before\n")
    assert left.endswith("after")


@pytest.mark.parametrize("name", DISGUISES)
def test_another_text_in_the_same_disguise_stays(name: str) -> None:
    worn = DISGUISES[name]("Another-harmless+value/7=x")
    assert SecretValues(SECRET).redact(worn) == worn


@given(st.text())
def test_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert SecretValues(SECRET).redact(text) == text


@given(
    st.text(alphabet="ab%\\u0123456789=x\x1b[m;&#\n ", max_size=60),
    st.text(alphabet="ab%\\u41=\x1b[m\n ", max_size=60),
)
def test_what_stands_around_a_disguised_secret_is_kept(before: str, after: str) -> None:
    worn = DISGUISES["a code for each letter"](SECRET)
    left = SecretValues(SECRET).redact(f"{before} . {worn} . {after}")
    assert left.startswith(f"{before} . ")
    assert left.endswith(f" . {after}")


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "piece", ["%41", "\\u0041", "=", "\x1b[m", "41 ", "QUJD", "&#65;", "00000000: 4141 4141  AA\n", "a"]
)
def test_no_text_takes_long(piece: str) -> None:
    started = time.monotonic()
    SecretValues(SECRET).redact(piece * (200_000 // len(piece)))
    assert time.monotonic() - started < 15
