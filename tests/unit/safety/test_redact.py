"""Credentials are taken out of text; what only looks a little like one stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.secretvalues import SecretValues
from hermes.safety.redact import redact

GONE = {
    "export GITHUB_TOKEN=ghp_" + "a1B2" * 9: "export GITHUB_TOKEN=[redacted]",
    "key sk-ant-" + "x9" * 20 + " ok": "key [redacted] ok",
    "AKIA" + "ABCDEFGH12345678": "[redacted]",
    "Authorization: Bearer abc.def-ghi_jkl": "Authorization: Bearer [redacted]",
    "postgres://user:p4ss@host/db": "postgres://user:[redacted]@host/db",
    '{"api_key": "Zx81-aaaa-bbbb-9"}': '{"api_key": "[redacted]"}',
    "DB_PASSWORD='h4nter-2x!'": "DB_PASSWORD='[redacted]'",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----": "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----",
}
KEPT = [
    "MAX_TOKENS=4096",
    "max_tokens: 4096, total_tokens=123456789",
    "token = get_token()",
    "OPENAI_API_KEY=$OPENAI_API_KEY",
    "API_KEY=your_key_here",
    "password: str",
    "the secret: patience",
    "https://example.com/a:b@c",
    "task-sk-learn-classifier-with-a-long-name",
    "if token == other_token: return",
    "git log --author=me@example.com",
    "0123456789abcdef0123456789abcdef01234567",
]


@pytest.mark.parametrize("text", GONE)
def test_credentials_go(text: str) -> None:
    assert redact(text) == GONE[text]


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_known_values_go_wherever_they_are() -> None:
    assert redact(SecretValues("hunter2hunter2", "short").redact("a hunter2hunter2 b")) == "a [redacted] b"
    assert redact(SecretValues("short").redact("short words stay")) == "short words stay"


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
