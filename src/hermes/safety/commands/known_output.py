"""What a program prints, as far as that is known without running it."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hermes.safety.commands.listings import (
    ALL_PROCESSES,
    fits_any_name,
    keeps_all,
    listed_names,
    lists_all_processes,
    narrows,
    searched,
)
from hermes.safety.commands.options import has_option, operands

_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_ESCAPE: Final = re.compile(r"\\(?:0?([0-7]{1,3})|[xuU]([0-9a-fA-F]{1,8})|(.))", re.DOTALL)
_PLACE: Final = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")
_LONGEST: Final = 100_000
_ALL: Final = ALL_PROCESSES + "\n"


def printed(program: str, words: Sequence[str], given: str | None) -> str | None:
    """The output of a program with these words and this input; None where only running it would tell.

    What lists all files of folders, or all processes, gives a pattern that stands for them.
    A NUL in it is a line's end: shells leave it out, and whatever else reads it takes it for an end.
    """
    if given == _ALL and keeps_all(program, words):
        return given
    known = _PROGRAMS.get(program)
    text = known(words, given) if known else None
    return text[:_LONGEST] if text is not None else None


def unescaped(text: str) -> str:
    """Text with the escapes of `$'…'`, `echo -e` and `printf` in it."""
    return _ESCAPE.sub(_letter, text)


def _letter(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if octal or hexadecimal:
        number = int(octal, 8) if octal else int(hexadecimal, 16)
        return chr(number) if 0 < number < 0x110000 else "\n"
    return _LETTERS.get(letter, letter)


def _echo(words: Sequence[str], _given: str | None) -> str:
    said = list(words)
    flags = ""
    while said and re.fullmatch(r"-[neE]+", said[0]):
        flags += said.pop(0)
    text = " ".join(said)
    return (unescaped(text) if "e" in flags else text) + ("" if "n" in flags else "\n")


def _printf(words: Sequence[str], _given: str | None) -> str:
    given = list(words[1:] if words[:1] == ("--",) else words)
    form, left = (given[0], given[1:]) if given else ("", [])
    text = ""
    while True:
        before = len(left)
        text += unescaped(_PLACE.sub(lambda found: left.pop(0) if found[1] and left else found[0][:-2], form))
        if not left or len(left) == before:
            return text


def _same(words: Sequence[str], given: str | None) -> str | None:
    return given if not [word for word in operands(words) if word != "-"] else None


def _tee(_words: Sequence[str], given: str | None) -> str | None:
    return given


def _base64(words: Sequence[str], given: str | None) -> str | None:
    if given is None or not has_option(words, "-d", "-D", "--decode"):
        return None
    digits = re.sub(r"[^A-Za-z0-9+/]", "", given)
    return _decoded(lambda: base64.b64decode(digits + "=" * (-len(digits) % 4)))


def _openssl(words: Sequence[str], given: str | None) -> str | None:
    coded = {"base64", "-base64", "-a"} & set(words)
    return _base64(words, given) if coded else None


def _xxd(words: Sequence[str], given: str | None) -> str | None:
    if given is None or not has_option(words, "-r"):
        return None
    return _decoded(lambda: bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", given)))


def _rev(_words: Sequence[str], given: str | None) -> str | None:
    return None if given is None else "\n".join(line[::-1] for line in given.split("\n"))


def _ls(words: Sequence[str], _given: str | None) -> str:
    return "\n".join(listed_names(words)) + "\n"


def _find(words: Sequence[str], _given: str | None) -> str | None:
    return None if narrows(words) else "".join(f"{folder.rstrip('/')}/*\n" for folder in searched(words))


def _ps(words: Sequence[str], _given: str | None) -> str | None:
    return _ALL if lists_all_processes(words) else None


def _pgrep(words: Sequence[str], _given: str | None) -> str | None:
    named = operands(words, {"-u", "-U", "-P", "-g", "-G", "-t", "-d", "-F"})
    of_users = has_option(words, "-u", "-U", "--euid", "--uid")
    return _ALL if (named or of_users) and all(map(fits_any_name, named)) else None


def _decoded(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().replace(b"\0", b"\n").decode()
    except (binascii.Error, ValueError):
        return None


_PROGRAMS: Final[Mapping[str, Callable[[Sequence[str], str | None], str | None]]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _same,
    "sort": _same,
    "uniq": _same,
    "tee": _tee,
    "base64": _base64,
    "openssl": _openssl,
    "xxd": _xxd,
    "rev": _rev,
    "ls": _ls,
    "dir": _ls,
    "find": _find,
    "ps": _ps,
    "pgrep": _pgrep,
}
