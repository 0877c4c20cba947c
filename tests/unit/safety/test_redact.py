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


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY", "apikey", "AWS_ACCESS_KEY_ID", "secretKey", "PRIVATE-KEY", "MASTERKEY", "SECRETS", "my_secret",
        "SECRET_THING", "PASSWORD_FILE", "authToken", "IDTOKEN", "passwd", "PASSPHRASE", "passcode", "PASS",
        "CREDENTIALS", "credential", "GITHUB_PAT", "JWT", "session_cookie", "connectionString", "DB_PWD",
        "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "SENTRY_DSN",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["{}=Ab12-cd34Ef", "x\n'{}' : 'Ab12-cd34Ef'", '{{"{}":"Ab12-cd34Ef"}}'])
def test_a_value_is_hidden_whose_name_says_that_it_is_a_credential(name: str, form: str) -> None:
    assert "Ab12-cd34Ef" not in redact(form.format(name))


@pytest.mark.parametrize(
    "key",
    [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\nxyz=",
        "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,1F\n\nMIIEvQIBADANBgkqhkiG9w0BAQEF",
    ],
)
@pytest.mark.parametrize("mark", ["", "+", "12|", "  > "])
def test_a_key_goes_whole_whatever_marks_its_lines_have(key: str, mark: str) -> None:
    rows = ["-----BEGIN PRIVATE KEY-----", *key.split("\n"), "-----END PRIVATE KEY-----", "after"]
    shown = redact("\n".join(mark + row for row in rows))
    assert not any(row and row in shown for row in key.split("\n"))
    assert "after" in shown


def test_a_mark_of_a_key_hides_no_code() -> None:
    text = 'A = "-----BEGIN PRIVATE KEY-----"\nrun("rm -rf x")\nB = "-----END PRIVATE KEY-----"\n'
    assert redact(text) == text
