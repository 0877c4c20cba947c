"""Say which variable a command went without: it is set where Hermes runs, and kept from commands."""

import re
from collections.abc import Iterable, Mapping

from hermes.types.workspace import ExecResult


class Missed:
    """The names that commands do not get, each told once."""

    def __init__(self, left: Iterable[str]) -> None:
        self._untold = set(left)

    def take(self, command: str, done: ExecResult, exports: Mapping[str, str]) -> str:
        """A sentence with the names that a command went without, or "": it expands them, or failed and its
        output names them.
        """
        said = set(re.findall(r"\w+", done.text, re.ASCII)) if done.code else set()
        names = sorted(
            name for name in self._untold - exports.keys() if name in said or _is_expanded(name, command)
        )
        if not names:
            return ""
        self._untold -= set(names)
        return (
            ("\n" if done.text and not done.text.endswith("\n") else "")
            + f"[variables: commands here do not get {', '.join(names)} of the user's environment; hermes"
            " sandbox status says why, terminal.env_passthrough in config.yaml lets one through]\n"
        )


def _is_expanded(name: str, command: str) -> bool:
    """Whether a command uses the variable of that name without setting it."""
    if "$" not in command and "printenv" not in command:
        return False
    return bool(
        re.search(rf"(?a:\$\{{?[#!]?{re.escape(name)}\b|\bprintenv\s+{re.escape(name)}\b)", command)
    ) and not re.search(rf"(?a:\b{re.escape(name)}=|\b(?:for|read)\b[^;|&\n]*\b{re.escape(name)}\b)", command)
