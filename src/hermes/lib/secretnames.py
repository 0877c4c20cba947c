"""Which variable names say that their value is a credential.

Sets and not one pattern: every start asks this for each variable, and the pattern took 4 ms to compile.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final

_KEYS: Final = (
    *("API", "ACCESS", "SECRET", "PRIVATE", "AUTH", "ACCOUNT", "SIGNING", "ENCRYPTION", "MASTER", "SESSION"),
    *("STORAGE", "APP", "LICENSE", "ROLE", "AGE", "KAGGLE"),
)
_SERVERS: Final = (
    *("DATABASE", "REDIS", "MONGO", "MONGODB", "POSTGRES", "POSTGRESQL", "AMQP", "RABBITMQ", "ELASTICSEARCH"),
)
_ENDS: Final = frozenset(
    {
        *map("".join, product(_KEYS, ("", "_"), ("KEY",))),
        *("ACCESSKEY_ID", "ACCESS_KEY_ID", "CLIENTSECRET", "AUTH_CONFIG", "WEBHOOK_URL", "SECRET", "SECRETS"),
        *map("".join, product(("", "AUTH", "ACCESS", "REFRESH", "BEARER", "ID"), ("TOKEN",))),
        *("PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PASS", "CREDENTIAL", "CREDENTIALS", "PAT", "JWT"),
        *("SESSIONCOOKIE", "SESSION_COOKIE", "CONNECTIONSTRING", "CONNECTION_STRING"),
        *map("_".join, product(_SERVERS, ("URL", "URI"))),
    }
)
"""What a name is, or ends with behind an underscore."""
_PARTS: Final = frozenset({"SECRET", "PASSWORD", "PASSWD"})
"""What a name has among its parts, wherever."""
_NAMES: Final = frozenset({"SENTRY_DSN", "PGPASSWORD", "SSHPASS"})
_BEGINNINGS: Final = ("OP_SESSION", "BW_SESSION")
_TOKENS_OF: Final = ("_TOKEN_BEDROCK", "_TOKEN_PYPI")


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name holds a credential, judged by its name alone; `MAX_TOKENS` is none."""
    name = name.upper()
    return (
        name in _NAMES
        or name.startswith(_BEGINNINGS)
        or any(one in _ENDS for one in _tails(name))
        or not _PARTS.isdisjoint(name.split("_"))
        or (name.endswith("_PWD") and name[-5:-4].isalpha())
        or name[1:].endswith(_TOKENS_OF)
        or name[:-1].startswith("TF_TOKEN_")
    )


def _tails(name: str) -> Iterator[str]:
    """The name, and what follows each of its underscores."""
    yield name
    at = name.find("_")
    while at >= 0:
        yield name[at + 1 :]
        at = name.find("_", at + 1)
