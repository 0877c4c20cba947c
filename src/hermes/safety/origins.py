"""Where a result comes from: judged by what its source can reach, never by what it says."""

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from hermes.safety.commands.exfiltration import DOWNLOADERS
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.local_programs import is_local
from hermes.safety.commands.paths import is_within
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.safety.outside_folders import NAMES, OutsideFolder
from hermes.types.action import Action, Command, FileAccess, ToolUse
from hermes.types.tool import ToolEntry

REACHING: Final = frozenset(
    {"needs-network", "network", "upload", "download", "publish", "remote", "infrastructure", "package"}
    | {"listen"}
)
"""Effects of a command by which words of other people can get into its output."""

_OF_OTHERS: Final = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|Maildir|\.thunderbird)(?:/|$)|\.(?:eml|mbox|mhtml)$"
)
_CONNECTING: Final = frozenset({"network", "other"})
_WITHOUT_CONTENT: Final = frozenset(
    {"rm", "rmdir", "mkdir", "touch", "chmod", "chown", "du", "ls", "stat", "test", "[", "cd"}
)
_OF_ITS_WORDS: Final = _WITHOUT_CONTENT | {
    *("cat", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "cp", "mv", "echo", "printf")
}
"""Programs that read no files but those of their words."""

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


def server_name(source: str) -> str:
    """The name that all tools of one MCP server have as a place outside; "" for tools of other sources."""
    kind, _, server = source.partition(":")
    return f"the MCP server {server}" if kind == "mcp" else ""


def as_named(path: str) -> Sequence[str]:
    """A path as it is written, where nobody can look where it leads."""
    return (path,)


class Provenance(Struct, frozen=True):
    """What an action reads: the name of what comes from outside ("" for nothing), and the folders of others,
    links followed, that it does not name and so may not enter, lest it read there unseen.
    """

    source: str = ""
    covered: tuple[str, ...] = ()


def came_from(action: Action, verdict: Verdict, policy: Policy, locate: Locate = as_named) -> str:
    """The name of what an action reads from outside; "" when it reads nothing from there. `locate` gives
    where a path of a command, or what fits a pattern, really lies.
    """
    return provenance(action, verdict, policy, locate).source


def provenance(action: Action, verdict: Verdict, policy: Policy, locate: Locate = as_named) -> Provenance:
    """What an action reads.

    Files of the workspace are the user's own, but for installed packages and mail; with `policy.strict` they
    are from outside as well.
    """
    match action:
        case FileAccess():
            foreign = policy.strict or _is_of_others(action.path, policy)
            return Provenance(f"the file {action.path}" if action.operation == "read" and foreign else "")
        case Command():
            located = cache(locate)
            named = _named_folders(action, verdict, policy, located)
            return Provenance(
                _of_command(action, verdict, policy, located, named),
                tuple(one.real for one in policy.outside_folders if one not in named),
            )
        case ToolUse():
            return Provenance(server_name(action.source))


def _named_folders(action: Command, verdict: Verdict, policy: Policy, locate: Locate) -> list[OutsideFolder]:
    """The folders of others that a command works in or names, by links and patterns, too."""
    if not policy.outside_folders:
        return []
    words = _places(verdict.commands)
    paths = {action.cwd, *action.needs.paths, *words}
    paths.update(real for path in words if UNKNOWN not in path for real in locate(path))
    return [one for one in policy.outside_folders if one.is_named_by(action.command, paths)]


def _places(commands: Iterable[Simple]) -> tuple[str, ...]:
    """The absolute paths that the words of commands may be, and those that they work in."""
    found = (
        posixpath.normpath(posixpath.join(command.cwd, path))
        for command in commands
        for path in (".", *command.argv[1:], *command.reads)
    )
    return tuple(dict.fromkeys(found))


def _of_command(
    action: Command, verdict: Verdict, policy: Policy, locate: Locate, named: Sequence[OutsideFolder]
) -> str:
    """The name of what a command reads that names these folders of others; the hosts where the sandbox lets
    it reach these and no others.
    """
    files = policy.strict or _may_walk(verdict, named) or _reads_others(verdict, policy, locate)
    if not (files or _reaches_out(action, verdict)):
        return ""
    hosts = verdict.access.network if verdict.access.confined else True
    if isinstance(hosts, tuple) and not files:
        return f"requests to {', '.join(hosts)}"
    return f"the output of `{_short(action.command)}`"


def _is_of_others(path: str, policy: Policy) -> bool:
    if any(is_within(path, posixpath.join(policy.home, name)) for name in NAMES):
        return True
    if any(one.holds(path) for one in policy.outside_folders):
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
    reading = _places(one for one in verdict.commands if one.program not in _WITHOUT_CONTENT)
    return any(_is_of_others(path, policy) or _leads_to_others(path, policy, locate) for path in reading)


def _may_walk(verdict: Verdict, named: Sequence[OutsideFolder]) -> bool:
    """Whether a command that names folders of others has programs that may read more than their words say."""
    by_words = verdict.commands and all(one.program in _OF_ITS_WORDS for one in verdict.commands)
    return bool(named) and not by_words


def _leads_to_others(path: str, policy: Policy, locate: Locate) -> bool:
    """Whether a path leads there by links or a pattern; `**` by where it begins."""
    if UNKNOWN in path:
        return False
    above, below, _ = path.partition("/**/")
    if below:
        folders = (posixpath.join(policy.home, name) for name in NAMES)
        return any(is_within(folder, above) for folder in folders)
    return any(_is_of_others(real, policy) for real in locate(path))


def _short(command: str) -> str:
    line = " ".join(command.split())
    if len(line) <= _SHOWN:
        return line
    mark = hashlib.blake2s(command.encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
    return f"{line[:_SHOWN]}… {mark}"  # two that begin alike are two sources
