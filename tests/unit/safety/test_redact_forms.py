"""Two tables: what must be masked by its form alone, and what must stay. Keys are made here, so that no file holds one."""

import hashlib
import json
import string
from pathlib import Path

import pytest

from hermes.lib.secretvalues import MASK
from hermes.safety.key_forms import Token, tokens
from hermes.safety.redact import redact

LETTERS = {
    "word": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "_-",
    "hex": "0123456789abcdef",
    "upper": string.ascii_uppercase + string.digits,
    "dots": string.ascii_letters + string.digits,
}


def made(seed: str, length: int, letters: str) -> str:
    stream = b"".join(
        hashlib.sha512(f"{seed}{number}".encode()).digest() for number in range(length // 64 + 1)
    )
    return "1" + "".join(letters[byte % len(letters)] for byte in stream[: length - 2]) + "7"


def key(begin: str, token: Token) -> str:
    return begin + made(begin, token.length, LETTERS[token.letters])


KEYS = [(token, begin) for token in tokens() for begin in token.begins]
WORD = made("word", 14, LETTERS["word"])
LONG = made("long", 40, LETTERS["word"])
SIGNED = ".".join(
    [
        "ey" + "J" + made("a", 20, LETTERS["word"]),
        "ey" + "J" + made("b", 40, LETTERS["word"]),
        made("c", 43, LETTERS["url"]),
    ]
)
MASKED = {
    "DB_PASSWORD=hunter": "hunter",
    "DB_PASSWORD=correcthorse": "correcthorse",
    "export MYSQL_PWD=opensesame": "opensesame",
    "REDIS_PASS=swordfish": "swordfish",
    f"db_password: {WORD}": WORD,
    f'db_password = "{WORD}"': WORD,
    f"clientSecret: '{WORD}'": WORD,
    f'{{"apiKey": "{WORD}"}}': WORD,
    f'{{"accessToken":"{WORD}"}}': WORD,
    f'"refresh_token": "{LONG}"': LONG,
    f"[db]\npassword = {WORD}": WORD,
    f"aws_secret_access_key = {LONG}": LONG,
    f"X-Api-Key: {WORD}": WORD,
    f"Authorization: Bearer {LONG}": LONG,
    f"authorization: token {LONG}": LONG,
    f"Authorization: {LONG}": LONG,
    f"-H 'Authorization: Basic {LONG}'": LONG,
    f"Proxy-Authorization: Basic {LONG}": LONG,
    f"Cookie: session={LONG}; theme=dark": LONG,
    f"Set-Cookie: sid={LONG}; Path=/": LONG,
    f"postgres://app:{WORD}@db/app": WORD,
    f"redis://:{WORD}@cache:6379/0": WORD,
    f"amqp://guest:{WORD}@mq/": WORD,
    f"mongodb+srv://u:{WORD}@c.example.net/x": WORD,
    f"https://{LONG}@git.example.com/x.git": LONG,
    f"https://x.example/f?sig={LONG}&se=2030": LONG,
    f"https://x.example/?access_token={WORD}": WORD,
    f"https://s3.example/x?X-Amz-Signature={LONG}": LONG,
    f"Server=db;User Id=sa;Password={WORD};": WORD,
    f"AccountName=x;AccountKey={LONG}==;EndpointSuffix=core": LONG,
    f"curl -u me:{WORD} https://x.example": WORD,
    f"curl --user 'me:{WORD}' https://x.example": WORD,
    f"machine x login me password {WORD}": WORD,
    f"login --password {WORD}": WORD,
    f"deploy --api-key={WORD}": WORD,
    f"jwt {SIGNED}": SIGNED,
    f"https://hooks.slack.com/services/T{'0A' * 5}/B{'1B' * 5}/{made('hook', 24, LETTERS['word'])}": made(
        "hook", 24, LETTERS["word"]
    ),
    "-----BEGIN OPENSSH PRIVATE " + f"KEY-----\n{LONG}\n{LONG}\n-----END OPENSSH PRIVATE " + "KEY-----": LONG,
    "-----BEGIN PGP PRIVATE " + f"KEY BLOCK-----\n\n{LONG}": LONG,
}
KEPT = [
    *(
        row["in"]
        for row in map(json.loads, (Path(__file__).parent / "forms.jsonl").read_text().splitlines())
        if row["want"] == "pass" and "eyJ" not in row["in"]
    ),
    "MAX_TOKENS=4096", "tokenizer: gpt2", "password: ", "Password:", "token_count: 12", "max_tokens=128000", "total_tokens: 99",
    "commit 3f2a9c0d1e4b5a69788796a5b4c3d2e1f0a9b8c7", "550e8400-e29b-41d4-a716-446655440000", "token = get_token()", "secret: str",
    'integrity "sha512-' + "Ab1" * 29 + '=="', "sha256:" + "0a" * 32, 'ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"', "def login(password: str) -> None:",
    "API_KEY=${API_KEY}", "API_KEY=<your key>", "API_KEY=your_key_here", "password = os.environ['PASSWORD']", "PASSWORD=changeme", "SECRET=xxxxxxxx", "TOKEN=***",
    "primary_key=True", "cache_key = f'{a}:{b}'", "foreign_key: user_id", "sort_key=created_at", "keyboard: qwerty12", "monkey: banana42", "author: a1b2c3",
    "--token <token>", "--password-stdin", "--token TOKEN", "docker run -u 1000:1000 image", "ssh -p 2222 host", "Authorization: required", "authorization: Optional[str]",
    "https://example.com/a?page=12&sort=name", "http://localhost:8080/v1", "git@github.com:a/b.git", "mailto:me@example.com", "ftp://mirror.example/pub",
    "sk-learn-is-a-library-for-machine-learning", "task-sk-classifier", "npm_config_registry_url_for_everybody", "hf_hub_download_and_cache_everything", "pypi-is-the-index",
    "data:image/png;base64," + "iVBORw0KGgo" * 20, "Bearer of bad news", "basic training programme", "cookie: a small cake", "secrets.token_hex(16)", "from secrets import token_urlsafe",
    "x-request-id: 7f3c2a", "the password is wrong", "password must have 12 characters", "tokens: [1, 2, 3]", "TOKENIZERS_PARALLELISM=false", "SSH_AUTH_SOCK=/tmp/agent.1", "PWD=/home/me",
    "KEY_EVENT_MASK=0x0001", "AKIA", "ghp_", "AIza", "compass: north42", "bypass=1234abcd", "passed: 12", "pass: 3 fail: 0",
]  # fmt: skip


def test_the_tables_are_large() -> None:
    assert len(tokens()) >= 60
    assert len(KEYS) + len(MASKED) >= 100
    assert len(set(KEPT)) >= 100


@pytest.mark.parametrize(("token", "begin"), KEYS, ids=[begin for _, begin in KEYS])
def test_a_makers_key_is_masked_alone_and_in_a_line(token: Token, begin: str) -> None:
    found = key(begin, token)
    assert redact(found) == MASK
    assert redact(f'see "{found}", please') == f'see "{MASK}", please'


@pytest.mark.parametrize("text", MASKED, ids=range(len(MASKED)))
def test_what_is_written_as_a_secret_is_masked(text: str) -> None:
    left = redact(text)
    assert MASK in left
    assert MASKED[text] not in left
    assert redact(left) == left


@pytest.mark.parametrize("text", KEPT, ids=range(len(KEPT)))
def test_innocent_words_stay(text: str) -> None:
    assert redact(text) == text
