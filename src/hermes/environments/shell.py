"""Carry directory, exports, options, functions and aliases of a shell from one fresh bash to the next."""

import hashlib
import itertools
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hermes.environments.shell_state import Dump, read_dump
from hermes.lib.abridged import Abridged
from hermes.lib.files import make_private

_LONGEST_ARGUMENT: Final = 100_000  # the kernel takes 128 KiB
_HARMLESS: Final = frozenset({"OLDPWD"})
_BARE: Final = ("--noprofile", "--norc")

# What the end of each command writes, without a fork. The file counts only if its last word is there.
DUMP: Final = (
    "{{ builtin unset -f trap; builtin printf 'hermes-shell 1\\0'; builtin pwd; builtin printf '\\0'; builtin"
    " set +o; builtin printf '\\0'; builtin shopt -p; builtin printf '\\0'; builtin declare -px; builtin"
    " printf '\\0'; builtin alias -p; builtin printf '\\0'; builtin declare -f; builtin printf '\\0'; builtin"
    " declare -Fx; builtin printf '\\0end'; }} {target} 2>/dev/null"
)
# A command that sets its own EXIT trap keeps it, and ours follows.
_TRAP: Final = (
    'trap() {{ builtin trap "$@" || return; [[ $BASH_SUBSHELL == 0 && $# -gt 1 ]] || return 0; [[ $1 != -- ]]'
    ' || shift; case " ${{*:2}} " in *" EXIT "*|*" 0 "*|*" exit "*|*" SIGEXIT "*) [[ $1 != - ]] || set -- "";'
    " builtin trap -- \"$1\"$'\\n'{dump} EXIT;; esac; }}; builtin trap -- {dump} EXIT"
)


class State(Abridged, Struct, frozen=True, kw_only=True):
    """What is carried. `functions` and `aliases` are shell text; they and `options` come from the shell's own
    dump.
    """

    unshown: ClassVar = ("exports",)

    cwd: str
    exports: Mapping[str, str]
    options: tuple[str, ...] = ()
    aliases: str = ""
    functions: str = ""


class Start(Abridged, Struct, frozen=True, kw_only=True):
    """How to start bash for one command; `dump` is the file that it will write, seen from here (None:
    nothing, or not in a file).
    """

    unshown: ClassVar = ("env",)

    argv: tuple[str, ...]
    env: dict[str, str]
    dump: Path | None = None


class Carrier(Protocol):
    """How the words of one shell reach the next: by files on this machine, or beside the output of a job
    elsewhere.
    """

    def target(self, *, confined: bool) -> tuple[str, Path | None]:
        """The redirection that a dump is written with, and the file it ends in, if it is one."""

    def script(self, text: str, *, confined: bool) -> str:
        """The path, as the command sees it, of a file with a script that is too long for an argument; "" if
        any length will do.
        """

    def dump(self, start: Start, state: bytes) -> Dump | None:
        """What the command left, or None when that is missing, cut or odd."""


class FileCarrier:
    """Carries by files in `folder`; the part of it for confined commands is seen by them as `inside`."""

    def __init__(self, folder: Path, inside: str) -> None:
        self._folder = folder
        self._inside = inside
        self._runs = itertools.count(1)

    def target(self, *, confined: bool) -> tuple[str, Path | None]:
        """A file of its own for each command."""
        path = self._path(confined=confined)
        return f">| {shlex.quote(self._seen(path, confined=confined))}", path

    def script(self, text: str, *, confined: bool) -> str:
        """A file with the text."""
        path = self._path(confined=confined)
        path = path.with_name(f"{path.name}-{os.urandom(8).hex()}.sh")
        # Confined commands write in this folder, too: no name of theirs may lead elsewhere
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return self._seen(path, confined=confined)

    def dump(self, start: Start, state: bytes) -> Dump | None:
        """What is in the file, which goes."""
        del state
        if start.dump is None:
            return None
        dump = read_dump(start.dump)
        with suppress(OSError):  # a folder with that name is the command's own
            start.dump.unlink(missing_ok=True)
        return dump

    def _path(self, *, confined: bool) -> Path:
        # Two folders: a link planted by a confined command must never be followed by an unconfined one.
        folder = self._folder / ("confined" if confined else "open")
        make_private(folder)
        return folder / f"state-{os.getpid()}-{id(self):x}-{next(self._runs)}"  # noqa: TID251  # a name of this process's own

    def _seen(self, path: Path, *, confined: bool) -> str:
        return f"{self._inside}/{path.name}" if confined and self._inside else str(path)


class Shell:
    """The carried shell, a program `bash`, over `carrier`.

    `guarded`: of what confined commands leave, those that are `clean` take the directory alone; confined ones
    do `first` at first. `gave` knows variables that every command is given.
    """

    def __init__(
        self,
        *,
        cwd: str,
        env: Mapping[str, str],
        carrier: Carrier,
        bash: str,
        guarded: bool = False,
        first: str = "",
        gave: Callable[[str, str], bool] = lambda _name, _value: False,
    ) -> None:
        self._gave = gave
        self._bash = (bash, *_BARE)
        self._carrier = carrier
        self._guarded = guarded
        self._first = first
        self._root = cwd
        self._first_state = self._state = State(cwd=cwd, exports=dict(env))
        self._clean_state = self._state  # the last one that no confined command could have touched

    @property
    def cwd(self) -> str:
        """The directory that the next command starts in."""
        return self._state.cwd

    @property
    def exports(self) -> Mapping[str, str]:
        """The variables that the next command gets."""
        return self._state.exports

    @property
    def mark(self) -> str:
        """A short name for all that is carried: another one when any of it changes."""
        state = self._state
        told = (sorted(state.exports.items()), state.options, state.aliases, state.functions)
        return hashlib.blake2s(repr(told).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

    @property
    def is_fresh(self) -> bool:
        """Whether no command has left variables, aliases or functions that change what another one does."""
        state = self._state
        left = {
            name: value
            for name, value in state.exports.items()
            if name not in _HARMLESS and not self._gave(name, value)
        }
        return not (state.aliases or state.functions) and left == self._first_state.exports

    def definitions(self, *, clean: bool) -> str:
        """The aliases and functions that a command starts with, as shell text."""
        state = self._starts(clean=clean)
        return f"{state.aliases}\n{state.functions}".strip()

    def finds_other_programs(self, *, clean: bool) -> bool:
        """Whether a command finds programs elsewhere than confined ones do, which have set PATH."""
        return self._starts(clean=clean).exports.get("PATH") != self._state.exports.get("PATH")

    def prepare(
        self, command: str, *, cwd: str | None = None, confined: bool, clean: bool, carry: bool = True
    ) -> Start:
        """How to run `command` in the carried shell, in `cwd` when it is given."""
        state = self._starts(clean=clean)
        target, dump = self._carrier.target(confined=confined) if carry else ("", None)
        first = [self._first] if confined and self._first else []
        lines = [*first, _change_directory(cwd or state.cwd), *_restore(state)]
        if target:
            lines.append(_TRAP.format(dump=shlex.quote(DUMP.format(target=target))))
        script = "\n".join([*lines, *state.options, command])
        return Start(argv=self._argv(script, confined=confined), env=dict(state.exports), dump=dump)

    def adopt(
        self,
        start: Start,
        state: bytes,
        output: str,
        *,
        confined: bool,
        clean: bool,
        keep_directory: bool = False,
    ) -> None:
        """Carry on from what the command left; a dump that is missing, cut or odd changes nothing, but that
        the next command starts at the top where the directory was gone. What a clean one has not changed
        stays as confined ones have left it.
        """
        dump = self._carrier.dump(start, state)
        if dump is None:
            if _gone(self._state.cwd) in output:
                self._state = replace(self._state, cwd=self._root)
            return
        left = _state_of(dump)
        left = replace(left, cwd=self._state.cwd) if keep_directory else left
        self._state = _changed(self._state, self._starts(clean=clean), left)
        if not confined:
            self._clean_state = left

    def _starts(self, *, clean: bool) -> State:
        """What a command starts with: a clean one takes from the confined ones their directory alone, for a
        variable, an option or a function of theirs could choose what it runs.
        """
        if clean and self._guarded:
            return replace(self._clean_state, cwd=self._state.cwd)
        return self._state

    def _argv(self, script: str, *, confined: bool) -> tuple[str, ...]:
        is_short = len(script.encode("utf-8", "surrogateescape")) < _LONGEST_ARGUMENT
        path = "" if is_short else self._carrier.script(script, confined=confined)
        return (*self._bash, path) if path else (*self._bash, "-c", script, "bash")


def _changed(state: State, begun: State, left: State) -> State:
    """The state with what a command has changed that began with another one."""
    gone = begun.exports.keys() - left.exports.keys()
    kept = {name: value for name, value in state.exports.items() if name not in gone}
    new = {name: value for name, value in left.exports.items() if begun.exports.get(name) != value}
    return State(
        cwd=left.cwd,
        exports={**kept, **new},
        options=state.options if left.options == begun.options else left.options,
        aliases=state.aliases if left.aliases == begun.aliases else left.aliases,
        functions=state.functions if left.functions == begun.functions else left.functions,
    )


def _state_of(dump: Dump) -> State:
    exported = "".join(f"declare -fx {name}\n" for name in dump.exported_functions)
    return State(
        cwd=dump.cwd,
        exports=dump.exports,
        options=dump.options,
        aliases=dump.aliases,
        functions=dump.functions + exported,
    )


def _change_directory(cwd: str) -> str:
    """The way into a directory; where it is gone nothing runs, for the decision was about that one."""
    gone = shlex.quote(_gone(cwd))
    return f"builtin cd -- {shlex.quote(cwd)} 2>/dev/null || {{ builtin echo {gone} >&2; builtin exit 1; }}"


def _gone(cwd: str) -> str:
    return f"{cwd} is gone, so this did not run"


def _restore(state: State) -> list[str]:
    return [text for text in (state.aliases, state.functions) if text]
