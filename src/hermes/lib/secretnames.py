"""Which variable names say that their value is a credential."""

import re

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET_?KEY|PRIVATE_?KEY|AUTH_?KEY|ACCOUNT_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|MASTER_?KEY|SESSION_?KEY"
    r"|SECRETS?|(?:AUTH|ACCESS|REFRESH|BEARER|ID)?TOKEN|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|PASS|CREDENTIALS?|PAT|JWT|SESSION_?COOKIE|CONNECTION_?STRING)$"
    r"|(?:^|_)(?:SECRET|PASSWORD|PASSWD)(?:_|$)|[A-Z]_PWD$"
    r"|^(?:DATABASE_URL|REDIS_URL|MONGODB_URI|SENTRY_DSN)$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name holds a credential, judged by its name alone; `MAX_TOKENS` is none."""
    return bool(_SECRET.search(name))
