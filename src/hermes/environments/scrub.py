"""The environment that a child process gets: the user's, without the secrets in it."""

from collections.abc import Iterable, Mapping

from hermes.lib.secretnames import is_secret_name

_INTERNAL = ("HERMES_", "BASH_FUNC_")
_DROPPED = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "OLDPWD", "PWD", "SHLVL", "_"})


def scrubbed(environ: Mapping[str, str], passthrough: Iterable[str] = ()) -> dict[str, str]:
    """`environ` without credentials, our own switches and what makes a shell run other code; `passthrough` names are kept."""
    kept = frozenset(passthrough)
    return {
        name: value
        for name, value in environ.items()
        if name in kept or not (is_secret_name(name) or name.startswith(_INTERNAL) or name in _DROPPED)
    }
