"""Forty secrets of odd forms, made up at run time, in the places where people keep secrets; and a search for them in what came out."""

import base64
import hashlib
import html
import json
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

LETTERS = string.ascii_letters + string.digits


def made(seed: str, length: int, letters: str = LETTERS) -> str:
    """Text that nobody else has, always the same for a seed."""
    stream = b"".join(
        hashlib.sha512(f"{seed}{number}".encode()).digest() for number in range(length // 64 + 1)
    )
    return "".join(letters[byte % len(letters)] for byte in stream[:length])


def pem(seed: str) -> str:
    body = base64.b64encode(hashlib.sha512(seed.encode()).digest() * 6).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE " + "KEY-----", *lines, "-----END EC PRIVATE " + "KEY-----"])


ENVIRON: Mapping[str, str] = {
    "HEX_TOKEN": made("hex", 32, "0123456789abcdef"),
    "BASE64_SECRET": made("b64", 43, LETTERS + "+/") + "=",
    "SHORT_PASSWORD": "x9$" + made("short", 5),
    "SPACED_PASSPHRASE": " ".join(made(f"word{number}", 6, string.ascii_lowercase) for number in range(5)),
    "QUOTED_PASSWORD": f'a"{made("q", 8)}\'b"c',
    "SLASHED_PASSWORD": f"C:\\{made('s', 6)}\\n\\{made('t', 6)}/x",
    "SYMBOLS_SECRET": made("symbols", 24, "!#$%^&*()_+-=[]{};:,.<>?/|~`"),
    "ADDRESS_TOKEN": f"{made('u', 6)}&b=%2F?{made('v', 6)}#c d",
    "MARKUP_TOKEN": f"<b>{made('m', 10)}</b>&amp;",
    "CYRILLIC_PASSWORD": "пароль-" + made("cyr", 6, "абвгдежзик"),
    "EMOJI_PASSWORD": f"🔑🦊{made('e', 7)}é",
    "TABBED_SECRET": f"{made('t1', 8)}\t{made('t2', 8)}",
    "DIGITS_PAT": made("digits", 16, string.digits),
    "LONG_SECRET": made("long", 300),
    "ENDED_TOKEN": made("ended", 20) + "\n",
    "DASHED_TOKEN": f"--{made('dash', 14)}",
    "TLS_PRIVATE_KEY": pem("tls"),
    "LIKE_A_KEY": "nothing",
    "LIKE_OPENAI_API_KEY": "sk-" + "proj-" + made("openai", 40),
    "LIKE_GITHUB_TOKEN": "gh" + "p_" + made("github", 36),
    "LIKE_AWS_ACCESS_KEY_ID": "AK" + "IA" + made("aws", 16, string.ascii_uppercase + string.digits),
    "LIKE_SLACK_TOKEN": "xo" + "xb-" + made("slack", 24),
    "LIKE_JWT_TOKEN": "ey" + "J" + made("j1", 20) + ".ey" + "J" + made("j2", 40) + "." + made("j3", 43),
    "LIKE_UUID_TOKEN": "-".join(made(f"uuid{size}", size, "0123456789abcdef") for size in (8, 4, 4, 12)),
    "DATABASE_URL": f"postgres://app:{made('db', 12)}@db.example/app",
}
DOTENV: Mapping[str, str] = {
    "FILE_PASSWORD": made("file", 12) + "#$x",
    "FILE_TOKEN": made("file2", 28),
    "FILE_SECRET": "ключ " + made("file3", 12),
    "FILE_API_KEY": made("file4", 9, string.ascii_lowercase + string.digits),
    "ONE_API_KEY": made("one", 30),
}
KEPT: Mapping[str, str] = {
    name: f"{name[0]}{made(name, 27)}"
    for name in ("first", "second", "access", "refresh", "spare", "other refresh")
}
FRESH: Mapping[str, str] = {"access": made("fresh access", 40), "refresh": made("fresh refresh", 40)}
PRINTED = made("printed by a command", 33)
HEADERS = (made("header", 22), made("other header", 31))
SECRETS: tuple[str, ...] = tuple(
    secret
    for secret in (*ENVIRON.values(), *DOTENV.values(), *KEPT.values(), *HEADERS)
    if secret != "nothing"
)
"""What a process knows as soon as it has a home."""
LATER: tuple[str, ...] = (*FRESH.values(), PRINTED)
"""What it learns when it signs in anew and runs the command for a key."""


@dataclass(frozen=True)
class Form:
    """One way in which a secret can stand in a text."""

    name: str
    text: str


def shapes(secret: str) -> Iterator[Form]:
    """A secret raw (also as JSON carries it) and in the encodings of the invariant, made here by other means than the product's."""
    yield Form("raw", secret)
    yield Form("raw", secret.strip())
    yield Form("raw", json.dumps(secret)[1:-1])
    yield Form("raw", json.dumps(secret, ensure_ascii=False)[1:-1])
    yield Form("url", quote(secret, safe=""))
    yield Form("markup", html.escape(secret))
    for text in (secret, f"user:{secret}", f"me:{secret}", f"x:{secret}@host"):
        yield Form("base64", base64.b64encode(text.encode()).decode())
        yield Form("base64", base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))
    yield Form("hex", secret.encode().hex())
    yield Form("hex", secret.encode().hex().upper())
    yield Form("reversed", secret[::-1])


def all_shapes(*secrets: str) -> tuple[Form, ...]:
    """All forms of these, each once."""
    return tuple(dict.fromkeys(form for secret in secrets for form in shapes(secret)))


FORMS = all_shapes(*SECRETS)
OF_ALL = all_shapes(*SECRETS, *LATER)


def everything(kind: str = "") -> list[str]:
    """Every form (of one kind) of what is known from the beginning."""
    return [form.text for form in FORMS if kind in {"", form.name}]


def hits(text: str | bytes) -> list[Form]:
    """What of the secrets is in there."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return [form for form in OF_ALL if form.text.encode() in data]


def settle(home: Path, command: Path) -> dict[str, Any]:
    """Put the secrets where they belong in a home; the settings that use them."""
    home.mkdir(exist_ok=True)
    command.write_text(f"#!/bin/sh\necho {PRINTED}\n")
    command.chmod(0o700)
    (home / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in DOTENV.items()))
    keys = [
        {"id": name, "kind": "api_key", "label": name, "secret": KEPT[name], "priority": 20}
        for name in ("first", "second", "spare")
    ]
    sign_in = {
        "id": "oa",
        "kind": "oauth",
        "label": "me",
        "secret": KEPT["access"],
        "refresh_token": KEPT["refresh"],
        "expires_at": 1.0,
    }
    other = {**sign_in, "id": "ob", "secret": "", "refresh_token": KEPT["other refresh"]}
    headers = {
        "x-team-key": "no secret",
        "x-api-key": HEADERS[0],
        "Proxy-Authorization": f"Bearer {HEADERS[1]}",
    }
    place = {"token_url": "http://sign-in/token", "client_id": "hermes"}
    rows = {"one": [*keys, {**other, **place, "priority": 30}], "two": [{**sign_in, **place, "priority": 1}]}
    (home / "auth.json").write_bytes(msgspec.json.encode({"version": 1, "providers": rows}))
    (home / "auth.json").chmod(0o600)
    return {
        "providers": {
            "one": {"base_url": "http://one/v1", "api_key_env": "ONE_API_KEY", "headers": headers},
            "two": {"base_url": "http://two/v1", "api_key_command": [str(command)]},
        },
        "model": {"default": "one/m", "max_retries": 2},
        "terminal": {"sandbox": "off"},
    }


def kept_elsewhere(home: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a home but those where secrets belong, and the saved files of workspaces: what the user
    keeps there comes back as it was, whatever it is.
    """
    for path in sorted(home.rglob("*")):
        saved = path.is_relative_to(home / "checkpoints" / "snapshots" / "packs")
        if path.is_file() and not saved and path.name not in {".env", "auth.json", "config.yaml"}:
            yield str(path.relative_to(home)), path.read_bytes()
