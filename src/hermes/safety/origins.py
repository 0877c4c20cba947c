"""Where a result comes from: judged by what its source can reach, never by what it says."""

import hashlib
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Final

from hermes.safety.commands.exfiltration import DOWNLOADERS
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.local_programs import is_local
from hermes.safety.commands.paths import is_within
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess
from hermes.types.tool import ToolEntry

REACHING: Final = frozenset(
    {"needs-network", "network", "upload", "download", "publish", "remote", "infrastructure", "package"}
    | {"listen"}
)
"""Effects of a command by which words of other people can get into its output."""

_OF_OTHERS: Final = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|Maildir|\.thunderbird)(?:/|$)|\.(?:eml|mbox|mhtml)$"
)
_FOLDERS_OF_OTHERS: Final = ("Downloads", "Mail")
_CONNECTING: Final = frozenset({"network", "other"})
_WITHOUT_CONTENT: Final = frozenset(
    {"rm", "rmdir", "mkdir", "touch", "chmod", "chown", "du", "ls", "stat", "test", "[", "cd"}
)
_SHOWN: Final = 80

Locate = Callable[[str], Sequence[str]]


def is_outside(entry: ToolEntry) -> bool:
    """Whether what a tool gives was written by others: as it says itself, else if it can connect, or does not
    declare that it cannot. What goes through the workspace is judged there, action by action.
    """
    if entry.toolset.startswith("mcp-"):
        return True
    if entry.outside is not None:
        return entry.outside
    manifest = entry.manifest
    if manifest.workspace:
        return False
    return bool(manifest.hosts or manifest.programs or not _CONNECTING.isdisjoint(manifest.effects))


def as_named(path: str) -> Sequence[str]:
    """A path as it is written, where nobody can look where it leads."""
    return (path,)


def came_from(action: Action, verdict: Verdict, policy: Policy, locate: Locate = as_named) -> str:
    """The name of what an action reads from outside; "" when it reads nothing from there.

    Files of the workspace are the user's own, but for installed packages and mail; with `policy.strict` they
    are from outside as well. `locate` gives where a path of a command, or what fits a pattern, really lies.
    """
    match action:
        case FileAccess():
            foreign = policy.strict or _is_of_others(action.path, policy)
            return f"the file {action.path}" if action.operation == "read" and foreign else ""
        case Command():
            return _of_command(action, verdict, policy, locate)
        case _:
            return ""


def _of_command(action: Command, verdict: Verdict, policy: Policy, locate: Locate) -> str:
    """The name of what a command reads; the hosts where the sandbox lets it reach these and no others."""
    files = policy.strict or _reads_others(verdict, policy, locate)
    if not (files or _reaches_out(action, verdict)):
        return ""
    hosts = verdict.access.network if verdict.access.confined else True
    if isinstance(hosts, tuple) and not files:
        return f"requests to {', '.join(hosts)}"
    return f"the output of `{_short(action.command)}`"


def _is_of_others(path: str, policy: Policy) -> bool:
    if any(is_within(path, posixpath.join(policy.home, name)) for name in _FOLDERS_OF_OTHERS):
        return True
    return bool(_OF_OTHERS.search(path.removeprefix(policy.workspace)))


def _reaches_out(action: Command, verdict: Verdict) -> bool:
    """Whether the network was opened for it, or is open and it names something there.

    A server on this machine counts, for what it passes on may come from anywhere.
    """
    needs, given = action.needs, verdict.access
    if needs.network or needs.hosts or (needs.unconfined and not all(map(is_local, verdict.commands))):
        return True
    if given.confined and not given.network:
        return False
    return any(one.effect in REACHING for one in verdict.findings) or any(
        one.program in DOWNLOADERS for one in verdict.commands
    )


def _reads_others(verdict: Verdict, policy: Policy, locate: Locate) -> bool:
    """Whether it names, or works in, a place whose files other people wrote."""
    named = dict.fromkeys(
        posixpath.normpath(posixpath.join(command.cwd, path))
        for command in verdict.commands
        if command.program not in _WITHOUT_CONTENT
        for path in (".", *command.argv[1:], *command.reads)
    )
    return any(_is_of_others(path, policy) or _leads_to_others(path, policy, locate) for path in named)


def _leads_to_others(path: str, policy: Policy, locate: Locate) -> bool:
    """Whether a path leads there by links or a pattern; `**` by where it begins."""
    if UNKNOWN in path:
        return False
    above, below, _ = path.partition("/**/")
    if below:
        folders = (posixpath.join(policy.home, name) for name in _FOLDERS_OF_OTHERS)
        return any(is_within(folder, above) for folder in folders)
    return any(_is_of_others(real, policy) for real in locate(path))


def _short(command: str) -> str:
    line = " ".join(command.split())
    if len(line) <= _SHOWN:
        return line
    mark = hashlib.blake2s(command.encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
    return f"{line[:_SHOWN]}… {mark}"  # two that begin alike are two sources
