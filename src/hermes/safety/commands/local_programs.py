"""Programs that run nothing of what they find in a folder, and connect to nothing."""

from typing import Final

from hermes.safety.commands.options import has_option, option_values
from hermes.safety.commands.script import Simple

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
_LOCAL_GIT: Final = frozenset(
    {
        *((name,) for name in ("add", "branch", "config", "init", "mv", "rm", "status", "tag")),
        *(("remote", name) for name in ("add", "get-url", "remove", "rename", "set-url")),
    }
)


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


def is_local(command: Simple) -> bool:
    """Whether a program is known to print nothing but what lies on this machine, and to run nothing else."""
    if command.program == "git":
        return tuple(command.argv[1:2]) in _LOCAL_GIT or tuple(command.argv[1:3]) in _LOCAL_GIT
    return is_plain(command)
