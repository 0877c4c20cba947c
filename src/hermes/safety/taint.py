"""What a session has read from outside, and what needs a fresh yes since then: orders in such text must not
become actions (invariant 17).

Pure functions. They do not ask whether a text is hostile, only where it came from; so an order that no
scanner knows is held as well.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase as fnmatch
from typing import Final

from msgspec.structs import replace

from hermes.config.instruction_files import NAMES, is_instruction_file, named_in
from hermes.safety.asked_for import can_have_asked
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.paths import place_of, runs_later
from hermes.safety.commands.rules import file_uses
from hermes.safety.decide import Policy, Verdict
from hermes.safety.grants import Grants, unlimited
from hermes.safety.origins import came_from
from hermes.safety.sources import Source, first_name
from hermes.safety.tool_effects import guarded_effects
from hermes.types.action import Action, Command, FileAccess, ToolUse
from hermes.types.question import Scope

GUARDED: Final = frozenset(
    {"needs-network", "needs-path", "unconfined", "outside", "foreign", "upload", "publish", "remote"}
    | {"infrastructure", "container", "download", "package", "listen", "persistence", "service"}
    | {"privilege", "own", "policy", "secret", "vault", "variables"}
)
"""Effects by which an order from outside would do harm beyond the workspace, or last."""

_PATTERN: Final = frozenset("*?[")
_UNPACKERS: Final = frozenset({"unzip", "7z", "7za", "7zr", "unrar", "cpio", "bsdtar", "patch", "unar"})
_EXTRACTS: Final = re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get")
_PATCHING: Final = frozenset({"apply", "am"})
_READERS: Final = frozenset(
    {"cat", "less", "more", "head", "tail", "grep", "rg", "egrep", "wc", "diff", "cmp", "ls", "stat"}
    | {"file", "find", "git", "echo", "printf", "test", "[", "md5sum", "sha256sum", "bat"}
)
_CARRYING: Final = re.compile(r"https?://[^\s'\"]*[?#@][^\s'\"]|[$`]")


NO_GRANTS: Final = Grants()
Said = Callable[[Collection[str]], tuple[str, ...] | None]
"""Gives what a model has read since something came that is not of these sources; None where it cannot."""


def nothing_known(_known: Collection[str]) -> None:
    """What is said of a session that nobody can look into."""
    return


def held(
    action: Action,
    verdict: Verdict,
    policy: Policy,
    read: tuple[Source, ...],
    grants: Grants = NO_GRANTS,
    said: Said = nothing_known,
) -> Verdict:
    """The verdict once `read` was: what reaches beyond the workspace needs a yes that was given in view of
    all that was read, but for what such a yes brings in itself, and for what cannot have asked for it.
    """
    if not read or verdict.decision == "deny":
        return verdict
    verdict = _protecting(action, verdict)
    guarded = tuple(dict.fromkeys(guards(action, verdict, policy)))
    own = came_from(action, verdict, policy)
    covered = _lasting(verdict.covered)
    new = _unknown_to(covered, read, grants, own if covered or isinstance(action, ToolUse) else "")
    if not guarded or not new or _is_unasked(action, verdict, read, grants, own, said):
        return verdict
    return replace(
        verdict,
        decision="ask",
        reasons=(*(verdict.reasons or guarded), _since(new, covered)),
        rule=verdict.rule or "outside",
        session=unlimited(covered) if covered else _lasting(verdict.session),
        covered=None,
        outside=new,
        by="rule",
    )


def _lasting(scope: Scope | None) -> Scope | None:
    """A yes that may hold after text from outside; one to all edits was to none of its wishes."""
    return None if scope is not None and scope.kind == "edits" else scope


def _protecting(action: Action, verdict: Verdict) -> Verdict:
    """The verdict with what agents take as instructions read-only in the sandbox, unless that is what it asks
    about.
    """
    given = verdict.access
    if not isinstance(action, Command) or not given.confined or any(_of_instructions(action, verdict)):
        return verdict
    return replace(verdict, access=replace(given, protected=True))


def _unknown_to(covered: Scope | None, read: tuple[Source, ...], grants: Grants, own: str) -> tuple[str, ...]:
    """The names of what was read that a yes was not given in view of, but for what the action brings in
    itself; all of it where there is no yes.
    """
    known = grants.knows(covered) if covered else frozenset()
    return tuple(
        one.name for one in read if one.name not in known and not (own and first_name(one.name) == own)
    )


def _is_unasked(
    action: Action, verdict: Verdict, read: tuple[Source, ...], grants: Grants, own: str, said: Said
) -> bool:
    """Whether a person allowed these very words before, and nothing that came since can have asked for
    them.
    """
    scope = verdict.covered
    if scope is None or not isinstance(action, Command) or not grants.has_words_of(action, scope):
        return False
    texts = said({*grants.knows(scope), *(one.name for one in read if own and first_name(one.name) == own)})
    return texts is not None and not can_have_asked(texts, action, verdict)


def _since(new: tuple[str, ...], covered: Scope | None) -> str:
    names = new[-3:]
    more = f" and {len(new) - len(names)} more" if len(new) > len(names) else ""
    if covered:
        return (
            f"text from outside has come that your earlier yes did not know of, {', '.join(names)}{more}; a"
            " yes for the session covers it again"
        )
    return (
        f"this session has read text from outside, {', '.join(names)}{more}, and what may come from there"
        " needs a yes of its own"
    )


def guards(action: Action, verdict: Verdict, policy: Policy) -> Iterator[str]:
    """Why an action needs a yes of its own once text from outside was read; nothing where it does not."""
    match action:
        case Command():
            return _of_command(action, verdict, policy)
        case FileAccess():
            return _of_file(action, policy)
        case ToolUse():
            return guarded_effects(action)


def _of_command(action: Command, verdict: Verdict, policy: Policy) -> Iterator[str]:
    """Why a command needs a yes of its own."""
    given, kept = verdict.access, verdict.access.confined and policy.sandbox != "container"
    online = not given.confined or bool(given.network)
    for one in verdict.findings:
        if one.effect in GUARDED and one.effect in verdict.effects:
            yield one.reason
        elif one.effect == "opaque" and online:
            yield f"{one.reason}, and it could send or change anything"
        elif one.effect == "network" and online and _CARRYING.search(action.command):
            yield "it may send data in an address"
    for command in verdict.commands:
        if not kept and _unpacks(command.program, command.argv[1:]):
            yield f"{command.program} writes files whose names are not in the command"
    yield from _of_instructions(action, verdict)


def _of_instructions(action: Command, verdict: Verdict) -> Iterator[str]:
    """Which of the files that agents take as instructions a command names, but to read them."""
    for path in action.needs.paths:
        if is_instruction_file(path):
            yield f"it asks to write {path}, which agents take as instructions"
    for command in verdict.commands:
        written = [*command.writes, *(path for does, path in file_uses(command) if does != "read")]
        named = () if command.program in _READERS else command.argv[1:]
        for path in dict.fromkeys((*written, *named)):
            if _steers(f"{action.cwd}/{path}"):
                yield f"it changes {path}, which agents take as instructions"
            elif path in named and (name := named_in(path)):
                yield f"it may change {name}, which agents take as instructions"


def _of_file(action: FileAccess, policy: Policy) -> Iterator[str]:
    if action.operation == "read":
        return
    place = place_of(posixpath.normpath(action.path), "/", policy.folders)
    if place in {"outside", "start", "home", "unknown"}:
        yield f"{action.path} is outside the workspace"
    if runs_later(action.path):
        yield f"{action.path} makes something run later"
    if _steers(action.path):
        yield f"{action.path} is what agents take as instructions"


def _unpacks(program: str, words: Sequence[str]) -> bool:
    """Whether a program writes files that an archive or a patch names."""
    if program == "tar":
        options = [*words[:1], *(word for word in words[1:] if word.startswith("-"))]
        return any(_EXTRACTS.fullmatch(word) for word in options)
    return program in _UNPACKERS or (program == "git" and not _PATCHING.isdisjoint(words))


def _steers(path: str) -> bool:
    """Whether a path is, or a pattern in it may be, a file that agents take as instructions."""
    if UNKNOWN in path:
        return False
    name = posixpath.basename(path)
    pattern = not _PATTERN.isdisjoint(name) and any(fnmatch(one, name) for one in NAMES)
    return pattern or is_instruction_file(path)
