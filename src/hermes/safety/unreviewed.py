"""Code that a session wrote itself, where nothing confines it and nobody is there to look at it."""

from typing import Final

from msgspec.structs import replace

from hermes.safety.commands.options import has_option, option_values
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess

_NAMES: Final = """
[ [[ : ag basename cat cd cksum cmp column comm cp cut date declare df diff dirname du echo egrep exit
export expand expr false fgrep file find fmt fold grep groups head hostname id jobs join kill less let
ln local ls md5sum mkdir mktemp more mv nl nproc od paste popd printf ps pushd pwd read readlink realpath
return rev rg rm rmdir sed seq set sha1sum sha256sum sha512sum shift sleep sort stat strings sum tac tail
tee test time touch tr tree true tty type umask uname uniq unset wait wc which whoami xxd yes
"""
_PLAIN: Final = frozenset(_NAMES.split())
"""Programs that run nothing of what they find in a folder."""

_GIT_GUARDS: Final = frozenset({"safe.bareRepository=explicit", "core.hooksPath=/dev/null"})
_GIT: Final = "; git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null does not"

_CHANGES: Final = frozenset({"change", "outside", "persistence", "opaque"})


def writes(action: Action, verdict: Verdict) -> bool:
    """Whether an action may leave files that are this session's own."""
    match action:
        case FileAccess():
            return action.operation != "read"
        case Command():
            return any(one.effect in _CHANGES for one in verdict.findings)
        case _:
            return False


def unreviewed(action: Action, verdict: Verdict, policy: Policy, *, wrote: bool) -> Verdict:
    """The verdict where nobody answers questions: without a sandbox, what may run code that this session has
    written needs a yes. `wrote` says that earlier actions wrote files.
    """
    free = verdict.decision == "allow" and verdict.by == "rule"
    if not isinstance(action, Command) or not free or policy.sandbox != "off" or _is_open(policy):
        return verdict
    changed = {one.path for one in verdict.findings if one.effect in _CHANGES}
    for one in verdict.commands:
        own = {absolute(path, one.cwd) for path in one.writes}
        if (wrote or changed - own) and not is_plain(one):
            other = _GIT if one.program == "git" else ""
            reason = f"{one.program} may run what this session wrote, with nothing that confines it{other}"
            return replace(verdict, decision="ask", reasons=(reason,), rule="own-code", effects=("opaque",))
    return verdict


def _is_open(policy: Policy) -> bool:
    return policy.yolo or policy.mode == "off"


def is_plain(command: Simple) -> bool:
    """Whether a program runs nothing of what it finds in a folder, and connects to nothing."""
    if not command.argv:
        return True
    if command.program == "sed" and has_option(command.argv[1:], "-f", "--file"):
        return False
    plain = command.program in _PLAIN or (command.program == "git" and _is_guarded(command))
    return plain and "/" not in command.argv[0].removeprefix("/usr").removeprefix("/bin/")


def _is_guarded(command: Simple) -> bool:
    """Whether git takes no folder for a repository that only looks like one, and runs no hook. What else of a
    repository chooses what it runs is kept from being written.
    """
    given = option_values(command.argv[1:], "-c")
    named = has_option(command.argv[1:], "--git-dir") or command.assignments
    return _GIT_GUARDS.issubset(given) and not named
