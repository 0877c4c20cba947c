"""The environment that a child process gets: the user's, without the secrets in it."""

import re
from collections.abc import Iterable, Mapping

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET_?KEY|PRIVATE_?KEY|AUTH_?KEY|SECRETS?|TOKENS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)$"
    r"|(?:^|_)(?:SECRET|PASSWORD|PASSWD)(?:_|$)"
    r"|^(?:DATABASE_URL|REDIS_URL|MONGODB_URI|SENTRY_DSN)$",
    re.IGNORECASE,
)
_INTERNAL = ("HERMES_", "BASH_FUNC_")
_DROPPED = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "OLDPWD", "PWD", "SHLVL", "_"})


def is_secret_name(name: str) -> bool:
    """Whether a variable of that name holds a credential, judged by its name alone."""
    return bool(_SECRET.search(name))


def scrubbed(environ: Mapping[str, str], passthrough: Iterable[str] = ()) -> dict[str, str]:
    """`environ` without credentials, our own switches and what makes a shell run other code; `passthrough` names are kept."""
    kept = frozenset(passthrough)
    return {
        name: value
        for name, value in environ.items()
        if name in kept or not (is_secret_name(name) or name.startswith(_INTERNAL) or name in _DROPPED)
    }
