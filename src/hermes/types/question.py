"""Questions to people and their answers; they travel as events and verbs."""

from typing import Literal

from msgspec import Struct

TouchedHow = Literal["deletes", "changes"]


class Touched(Struct, frozen=True, kw_only=True):
    """What an action would delete, or write over, at a path: how many files with how many bytes, more of them
    where `more` says so. `names` are the first files of a folder. Without a path it is known only when it
    runs.
    """

    how: TouchedHow
    path: str = ""
    files: int = 0
    size: int = 0
    more: bool = False
    names: tuple[str, ...] = ()


class Approve(Struct, frozen=True, kw_only=True):
    """May this run? `command` is shown whole; `reasons` say in plain words why it was stopped.

    `session_pattern` and `always_pattern` name exactly what a wider yes would cover; empty means that it is
    not offered. `touches` is what is there of what it would delete or write over, as far as it names that.
    `digest` names what an answer is about: the action with its environment, the session and who
    calls. `diff` is the change that a file operation belongs to, unified; `rule` is `edit` where it asks
    because edits do.
    """

    command: str
    cwd: str
    reasons: tuple[str, ...]
    rule: str
    diff: str = ""
    session_pattern: str = ""
    always_pattern: str = ""
    digest: str = ""
    touches: tuple[Touched, ...] = ()
    kind: Literal["approve"] = "approve"


class Scope(Struct, frozen=True, kw_only=True):
    """What a wider yes covers, and how long.

    `exact`: the command `words` in `directory` ("": anywhere). `program`: the program and subcommand `words`
    in `directory`, with findings of `rules` alone. `path`: writing (or what `words` says) the file `path`.
    `host`: whatever needs the network to reach the host `words` alone. `rules`: any command with findings of
    these `rules` alone. `edits`: every edit of the workspace. `tool`: every call of the tool `words`.
    `needs`: what the covered command may declare, as `safety.needs` words it. `content`: what has to be in
    the files that it names, or the definition that the tool has.
    """

    kind: Literal["exact", "program", "path", "host", "rules", "edits", "tool"]
    words: str
    directory: str = ""
    rules: tuple[str, ...] = ()
    path: str = ""
    needs: tuple[str, ...] = ()
    content: str = ""
    uses: int = 0
    until: float = 0.0


class Clarify(Struct, frozen=True, kw_only=True):
    """An open question, with up to four options."""

    text: str
    options: tuple[str, ...] = ()
    kind: Literal["clarify"] = "clarify"


Question = Approve | Clarify


class Grant(Struct, frozen=True, kw_only=True):
    """Yes: once, for this session, or always (saved to the allowlist in the user's config).

    `uses` ends a wider yes after so many actions, `until` at an epoch second; 0 sets no limit.
    """

    scope: Literal["once", "session", "always"] = "once"
    uses: int = 0
    until: float = 0.0
    kind: Literal["grant"] = "grant"


class Deny(Struct, frozen=True, kw_only=True):
    """No, with what to do instead when the person said so."""

    reason: str = ""
    kind: Literal["deny"] = "deny"


class Reply(Struct, frozen=True, kw_only=True):
    """Words. Where `decided` says who chose them (`policy`), no person did."""

    text: str
    decided: Literal["", "policy"] = ""
    kind: Literal["reply"] = "reply"


Answer = Grant | Deny | Reply
