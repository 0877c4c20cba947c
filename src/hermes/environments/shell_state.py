"""Read what a shell wrote about itself; the writer may be hostile, so only well-formed parts are taken."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct

from hermes.lib.abridged import Abridged

_LARGEST: Final = 2_000_000
_PARTS: Final = 9
_EXPORT = re.compile(
    r"""declare -\w*x\w* (\w+)(?:="((?:[^"\\$`]|\\.)*)"|=\$'((?:[^'\\]|\\.)*)')?\n""", re.DOTALL
)
_OPTION = re.compile(r"set ([-+]o [\w-]+)", re.ASCII)
_SHOPT = re.compile(r"shopt -([su]) (\w+)", re.ASCII)
_FUNCTION = re.compile(r"declare -fx (\w+)", re.ASCII)
_ANSI = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.DOTALL
)
_ANSI_LETTERS: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}

_USUAL_OPTIONS: Final = frozenset({"braceexpand", "hashall", "interactive-comments"})
_LAST: Final = ("errexit", "xtrace", "verbose")
_NEVER_CARRIED: Final = frozenset(
    {"noexec", "onecmd", "privileged", "restricted", "monitor", "history", "emacs", "vi"}
)
_USUAL_SHOPTS: Final = frozenset(
    {
        "checkwinsize",
        "cmdhist",
        "complete_fullquote",
        "extquote",
        "force_fignore",
        "globasciiranges",
        "globskipdots",
        "hostcomplete",
        "interactive_comments",
        "patsub_replacement",
        "progcomp",
        "promptvars",
        "sourcepath",
    }
)
_READ_ONLY_SHOPTS: Final = frozenset({"login_shell", "restricted_shell"})
_OWN: Final = frozenset({"HERMES_CALL", "SHELLOPTS", "BASHOPTS", "SHLVL", "PWD", "_", "BASH_ENV", "ENV"})


class Dump(Abridged, Struct, frozen=True, kw_only=True):
    """The parts of a dump; `options` are ready statements that restore what differs from a fresh shell."""

    unshown: ClassVar = ("exports",)

    cwd: str
    exports: Mapping[str, str]
    options: tuple[str, ...]
    aliases: str
    functions: str
    exported_functions: tuple[str, ...]


def read_dump(path: Path) -> Dump | None:
    """The dump in a file, or None when it is not a whole, regular, reasonable one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(_LARGEST + 1)
    return parse_dump(data) if len(data) <= _LARGEST else None


def parse_dump(data: bytes) -> Dump | None:
    """The dump in `data`, or None when a part is missing."""
    parts = data.decode("utf-8", "surrogateescape").split("\0")
    if (
        len(parts) != _PARTS
        or parts[0] != "hermes-shell 1"
        or parts[-1] != "end"
        or not parts[1].startswith("/")
    ):
        return None
    return Dump(
        cwd=parts[1].removesuffix("\n"),
        exports=_exports(parts[4]),
        options=_options(parts[2], parts[3]),
        aliases=parts[5],
        functions=parts[6],
        exported_functions=tuple(_FUNCTION.findall(parts[7])),
    )


def _exports(text: str) -> dict[str, str]:
    found = {}
    for name, plain, quoted in (match.groups() for match in _EXPORT.finditer(text)):
        if name in _OWN or (
            plain is None and quoted is None
        ):  # exported by name alone, it is not in the environment
            continue
        found[name] = _unquoted(quoted) if plain is None else re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL)
    return found


def _unquoted(text: str) -> str:
    # Bytes come one escape each; only together are they characters.
    return _ANSI.sub(_ansi, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _ansi(match: re.Match[str]) -> str:
    octal, hexadecimal, short, long, letter = match.groups()
    if octal or hexadecimal:
        return bytes([int(octal, 8) if octal else int(hexadecimal, 16)]).decode("utf-8", "surrogateescape")
    if short or long:
        return chr(int(short or long, 16))
    return _ANSI_LETTERS.get(letter, letter)


def _options(set_text: str, shopt_text: str) -> tuple[str, ...]:
    """Statements for what differs, in an order in which tracing comes last, so that the statements are not
    traced.
    """
    changed = [
        f"shopt -{flag} {name}"
        for flag, name in _SHOPT.findall(shopt_text)
        if _differs(flag == "s", name, _USUAL_SHOPTS)
    ]
    for setting in sorted(_OPTION.findall(set_text), key=lambda item: item.endswith(_LAST)):
        sign, _, name = setting.partition("o ")
        if _differs(sign == "-", name, _USUAL_OPTIONS):
            changed.append(f"set {setting}")
    return tuple(changed)


# A switch is what it compares
def _differs(on: bool, name: str, usual: frozenset[str]) -> bool:  # noqa: FBT001
    return name not in _NEVER_CARRIED | _READ_ONLY_SHOPTS and on != (name in usual)
