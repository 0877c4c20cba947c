"""Code that a session wrote itself, where nothing confines it and nobody is there to look at it."""

from typing import Final

from msgspec.structs import replace

from hermes.safety.commands.options import has_option
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess

_NAMES: Final = """
[ [[ : ag basename cat cd cksum cmp column comm cp cut date declare df diff dirname du echo egrep exit
export expand expr false fgrep file find fmt fold git grep groups head hostname id jobs join kill less let
ln local ls md5sum mkdir mktemp more mv nl nproc od paste popd printf ps pushd pwd read readlink realpath
return rev rg rm rmdir sed seq set sha1sum sha256sum sha512sum shift sleep sort stat strings sum tac tail
tee test time touch tr tree true tty type umask uname uniq unset wait wc which whoami xxd yes
"""
_PLAIN: Final = frozenset(_NAMES.split())
"""Programs that run nothing of what they find in a folder. What git would run is kept from being written."""

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
            reason = f"{one.program} may run what this session wrote, with nothing that confines it"
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
    return command.program in _PLAIN and "/" not in command.argv[0].removeprefix("/usr").removeprefix("/bin/")
