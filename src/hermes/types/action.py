"""What a tool wants to do to the world: the thing `safety.decide` decides on."""

import hashlib
import json
from typing import Any, Final, Literal, Self

from msgspec import Struct, to_builtins

from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.tool import ToolManifest

Decider = Literal["rule", "sandbox", "person", "session", "allowlist", "yolo", "model", "checkpoint"]
"""Who or what said yes."""


class Command(Struct, frozen=True, kw_only=True):
    """A shell command. `cwd` is where it would run, `environment` stands for the variables and options it
    would have.

    `carried` is shell text: the aliases and functions that earlier commands have left. `content` stands for
    what is in the files that its words name, as far as they are known, and `beside` says that a process which
    the session started before still runs, and may change them; `runners` are the paths of those that name in
    their first line the program that runs them, with it; `steered` says that the repository there has git run
    programs. `needs` is what it declares; without it a
    sandbox gives nothing beyond the usual. `fresh` says that earlier commands have left nothing in the shell
    that changes what this one does.
    """

    command: str
    cwd: str
    background: bool = False
    pty: bool = False
    environment: str = ""
    carried: str = ""
    content: str = ""
    beside: bool = False
    runners: tuple[tuple[str, str], ...] = ()
    steered: bool = False
    fresh: bool = False
    needs: Needs = NO_NEEDS
    kind: Literal["command"] = "command"


class FileAccess(Struct, frozen=True, kw_only=True):
    """A file operation by one of the file tools; `path` is absolute, links resolved, and `in_git` its name in
    a folder `.git`, where it lies in the folder of a repository that is called otherwise. `diff` is the
    change that a write belongs to, where that is text.
    """

    operation: Literal["read", "write", "delete"]
    path: str
    in_git: str = ""
    diff: str = ""
    kind: Literal["file"] = "file"


class ToolUse(Struct, frozen=True, kw_only=True):
    """A call of a tool, before it runs: what the tool declares, and where it comes from. `arguments` are what
    it is called with, as JSON, where a person may have to say yes to them.
    """

    tool: str
    source: str
    manifest: ToolManifest
    arguments: str = ""
    kind: Literal["tool"] = "tool"


Action = Command | FileAccess | ToolUse


def digest_of(action: Action, **more: str) -> str:
    """A short name that only this very action has, with whatever else an answer is bound to."""
    text = json.dumps([to_builtins(action), more], sort_keys=True)
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


PLAN_MODE: Final = (
    "Plan mode is on: nothing may change now. Look at what you need with commands and tools that only read,"
    " then say what you would do and wait; the user ends plan mode."
)
"""What a model is told where nothing may change."""
WORDS: Final = frozenset({"person", "session", "allowlist"})
"""By whom a permit is that rests on a person's word, given now or before."""


class Permit(Struct, frozen=True, kw_only=True):
    """The yes to one action, given by `authorize` alone, and what it allows; `digest` names the action,
    `serial` this yes.

    `confined`: the sandbox must be around it. `network`: it may reach the network, all of it or these hosts.
    `writable`: it may write in the workspace, also in a read-only sandbox; `paths`: and in these.
    `protected`: but not what agents take as instructions. `covered`: folders, links followed, that it may not
    enter. `closed`: the needs that its session cannot have.
    `outside` names where what it gives comes from, when others may have written that; `read` what its session
    had read from outside when it was given, with that.
    """

    digest: str
    serial: str = ""
    confined: bool = True
    network: bool | tuple[str, ...] = False
    writable: bool = False
    paths: tuple[str, ...] = ()
    protected: bool = False
    covered: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    outside: str = ""
    read: tuple[str, ...] = ()
    by: Decider = "rule"

    @classmethod
    def of(cls, action: Action, **rest: Any) -> Self:
        """A permit for this action; `rest` are the other fields."""
        return cls(digest=digest_of(action), **rest)
