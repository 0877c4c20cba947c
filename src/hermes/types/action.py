"""What a tool wants to do to the world: the thing `safety.decide` decides on."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell command. `cwd` is where it would run; `sandboxed` says that the environment confines it."""

    command: str
    cwd: str
    background: bool = False
    pty: bool = False
    kind: Literal["command"] = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """A file operation by one of the file tools; `path` is absolute, links resolved."""

    operation: Literal["read", "write", "delete"]
    path: str
    kind: Literal["file"] = "file"


Action = Command | FileAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The yes to one action, given by `authorize` alone, and what it allows.

    `confined`: the sandbox must be around it. `network`: it may reach the network, all of it or these hosts. `writable`: a read-only
    sandbox must let it write in the workspace.
    """

    confined: bool = True
    network: bool | tuple[str, ...] = False
    writable: bool = False
    by: Literal["rule", "sandbox", "person", "session", "allowlist", "yolo"] = "rule"
