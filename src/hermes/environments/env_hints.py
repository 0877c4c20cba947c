"""Say what a command went without, told by its output: a variable that is kept from it, or what the sandbox
does not let it do.
"""

import errno
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from hermes.config.instruction_files import named_in
from hermes.environments.base import Finished
from hermes.types.action import Permit
from hermes.types.workspace import ExecResult


def _errors(*numbers: int) -> str:
    return "|".join(f"{re.escape(os.strerror(one))}|{errno.errorcode[one]}" for one in numbers)


_NETWORK: Final = re.compile(
    _errors(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED)
    + r"|EAI_AGAIN|ENOTFOUND|[Nn]ame resolution|resolve host|no such host|unknown host|not known|\[network: "
)
_FILES: Final = re.compile(_errors(errno.EROFS))
_KEPT: Final = re.compile(_errors(errno.EROFS, errno.EBUSY))
_RIGHTS: Final = re.compile(_errors(errno.EPERM, errno.EACCES, errno.EBUSY))


def denial(done: Finished, permit: Permit) -> str:
    """What a confined command that failed may have lacked, and what to declare; "" where nothing tells of
    it.
    """
    if not permit.confined or not done.code:
        return ""
    ways = []
    if permit.network is not True and _NETWORK.search(done.text):
        ways.append('the network: needs {"hosts": ["…"]} or {"network": true}')
    if permit.protected and (name := named_in(done.text)) and _KEPT.search(done.text):
        ways.append(f'changing what agents take as instructions: needs {{"paths": ["{name}"]}}')
    elif _FILES.search(done.text):
        ways.append('writing there: needs {"paths": ["…"]}')
    if not ways and _RIGHTS.search(done.text):
        ways.append('rights, a service or credentials: needs {"unconfined": true}')
    if not ways:
        return ""
    return (
        f"The sandbox may have kept this from {'; or '.join(ways)}. Call again with it if it must be; the"
        " user is asked."
    )


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
