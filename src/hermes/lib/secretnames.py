"""Which variable names say that their value is a credential."""

import re

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET_?KEY|PRIVATE_?KEY|AUTH_?KEY|ACCOUNT_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|MASTER_?KEY|SESSION_?KEY"
    r"|(?:STORAGE|APP|LICENSE|ROLE|AGE|KAGGLE)_?KEY|CLIENT_?SECRET|AUTH_CONFIG|WEBHOOK_URL"
    r"|SECRETS?|(?:AUTH|ACCESS|REFRESH|BEARER|ID)?TOKEN|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|PASS|CREDENTIALS?|PAT|JWT|SESSION_?COOKIE|CONNECTION_?STRING)$"
    r"|(?:^|_)(?:SECRET|PASSWORD|PASSWD)(?:_|$)|[A-Z]_PWD$"
    r"|(?:^|_)(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|AMQP|RABBITMQ|ELASTICSEARCH)_UR[IL]$|^SENTRY_DSN$"
    r"|^(?:TF_TOKEN_\w+|\w+_TOKEN_(?:BEDROCK|PYPI)|(?:OP|BW)_SESSION\w*|PGPASSWORD|SSHPASS)$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name holds a credential, judged by its name alone; `MAX_TOKENS` is none."""
    return bool(_SECRET.search(name))
