"""Say what a command went without, told by its output: a variable that is kept from it, or what the sandbox
does not let it do.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
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
    r"|No matching distribution found"
)
_NEAR: Final = re.compile(r"\b(?:localhost|127\.0\.0\.1)\b|\[::1\]")
_UNREACHED: Final = re.compile(_errors(errno.ECONNREFUSED) + r"|Couldn't connect|Failed to connect")
_DOWNLOADERS: Final = {"curl": {6, 7}, "wget": {4}}
"""Their exit codes for having reached nobody, which they may not say in words."""

_FILES: Final = re.compile(_errors(errno.EROFS))
_KEPT: Final = re.compile(_errors(errno.EROFS, errno.EBUSY))
_OF_GIT: Final = re.compile(r"\.git/(?:[^\s'\"]*/)?(?:config|hooks)\b")
_BRANCH_SETTINGS: Final = re.compile(r"^warning: [Uu]pdate of config-file failed", re.MULTILINE)
_REPOSITORY: Final = re.compile(r"'(/[^'\"]+/\.git)/[^']*\.lock'")
_DENIED: Final = re.compile(_errors(errno.EACCES))
_NAME_IT: Final = (
    "What is in {0} was written by others, so a command enters it only where its own text names that folder:"
    " call again with {0} in the command if it must be."
)
_RIGHTS: Final = re.compile(
    _errors(errno.EPERM, errno.EACCES, errno.EBUSY) + r"|connect to the Docker daemon"
)
_OWN_LOOPBACK: Final = (
    "Each command here has a loopback of its own: start a server and use it in the same command, or declare"
    " the network for both. "
)


def denial(command: str, done: Finished, permit: Permit) -> str:
    """What a confined command that failed may have lacked, and what to declare, or that this session cannot
    have it; "" where nothing tells of it.
    """
    if not permit.confined or not done.code:
        return ""
    if folder := _barred(done, permit):
        return _NAME_IT.format(folder)
    ways = list(_ways(command, done, permit))
    told = [f"{what}: needs {need}" for kind, what, need in ways if kind not in permit.closed]
    never = [what for kind, what, _ in ways if kind in permit.closed]
    near = _OWN_LOOPBACK if _is_near(command, done, permit) else ""
    if told:
        near += (
            f"The sandbox may have kept this from {'; or '.join(told)}. Call again with it if it must be. "
        )
    if never:
        near += (
            f"The sandbox may have kept this from {'; or '.join(never)}, which this session cannot have: do"
            " without it. "
        )
    return near.rstrip()


def _barred(done: Finished, permit: Permit) -> str:
    """The folder of others that a command was kept from, as its output says; "" where there is none."""
    refused = [line for line in done.text.splitlines() if _DENIED.search(line)]
    names = {folder: re.compile(rf"\b{re.escape(Path(folder).name)}\b") for folder in permit.covered}
    return next((one for one in names if any(map(names[one].search, refused))), "")


def harmless(done: Finished, permit: Permit) -> str:
    """A line about what a confined command that went well could not do, where that does not matter; ""
    where there is none.
    """
    if permit.confined and not done.code and _BRANCH_SETTINGS.search(done.text):
        return "[sandbox: the branch is deleted; only its settings stay in .git/config, read-only here]\n"
    return ""


def _ways(command: str, done: Finished, permit: Permit) -> Iterator[tuple[str, str, str]]:
    """The kinds of need, in words and as they are declared."""
    found = 0
    if permit.network is not True and (_NETWORK.search(done.text) or _reached_nobody(command, done)):
        found += 1
        yield "network", "the network", '{"hosts": ["…"]} or {"network": true}'
    if _KEPT.search(done.text) and _OF_GIT.search(done.text):
        yield "unconfined", "git's settings and hooks, which are read-only here", '{"unconfined": true}'
    elif permit.protected and (name := named_in(done.text)) and _KEPT.search(done.text):
        yield "instructions", "changing what agents take as instructions", f'{{"paths": ["{name}"]}}'
    elif _FILES.search(done.text):
        above = _REPOSITORY.search(done.text)
        where = "writing in a repository that begins above this folder" if above else "writing there"
        yield "paths", where, f'{{"paths": ["{above[1] if above else "…"}"]}}'
    elif not found and _RIGHTS.search(done.text):
        yield "unconfined", "rights, a service or credentials", '{"unconfined": true}'


def _reached_nobody(command: str, done: Finished) -> bool:
    return any(
        done.code in codes and re.search(rf"\b{program}\b", command)
        for program, codes in _DOWNLOADERS.items()
    )


def _is_near(command: str, done: Finished, permit: Permit) -> bool:
    """Whether it looked for a server on a loopback that is its own."""
    failed = _UNREACHED.search(done.text) or _reached_nobody(command, done)
    return permit.network is not True and bool(failed and _NEAR.search(f"{command} {done.text}"))


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
