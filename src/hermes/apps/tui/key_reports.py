"""Keys as a terminal reports them once it is asked to tell all apart, in the form that every terminal has."""

import re
from collections.abc import Mapping
from typing import Final

ASK: Final = "\x1b[>5u"
"""The kitty protocol: tell all keys apart (1), and name the key that stands there on a Latin keyboard (4),
without which Ctrl-C is another key where another script is typed.
"""
STOP: Final = "\x1b[<1u"
ASK_XTERM: Final = "\x1b[>4;1m"
"""modifyOtherKeys, for xterm and tmux; some other terminals would take it for colours."""
STOP_XTERM: Final = "\x1b[>4m"

_REPORT: Final = re.compile(
    r"\x1b\[(?:27;(?P<xmods>\d+);(?P<xcode>\d+)~"
    r"|(?P<code>\d+)(?::(?P<shifted>\d*)(?::(?P<base>\d+))?)?(?:;(?P<mods>\d*)(?::\d+)?)?u"
    r"|(?P<number>\d+);(?P<fmods>\d+)(?P<final>[ABCDEFHPQRS~]))"
)
_CUT: Final = re.compile(r"\x1b\[\d[\d;:]*\Z")
_SHIFT, _ALT, _CONTROL = 1, 2, 4
_KNOWN = _SHIFT | _ALT | _CONTROL  # the others are locks, and keys that no terminal had before
_ENTER, _ESCAPE, _TAB, _BACKSPACE = 13, 27, 9, 127
_LAST_OF_LATIN, _PRIVATE = 127, range(57344, 63744)
_KEYPAD: Final[Mapping[int, str]] = {
    57414: "\r", 57417: "\x1b[D", 57418: "\x1b[C", 57419: "\x1b[A", 57420: "\x1b[B", 57421: "\x1b[5~",
    57422: "\x1b[6~", 57423: "\x1b[H", 57424: "\x1b[F", 57425: "\x1b[2~", 57426: "\x1b[3~",
}  # fmt: skip
_CONTROLLED: Final = {" ": "\x00", "2": "\x00", "/": "\x1f", "-": "\x1f", "7": "\x1f"}


def translated(data: str) -> str:
    """What was read, with reported keys as the bytes that they have always been; Shift-Enter becomes
    Alt-Enter, which breaks a line.
    """
    return _REPORT.sub(_legacy, data) if "\x1b[" in data else data


def cut_at(data: str) -> int:
    """Where a report begins whose end was not read yet; the length of `data` where none does."""
    found = _CUT.search(data)
    return found.start() if found else len(data)


def _legacy(report: re.Match[str]) -> str:
    if report["final"]:
        return _function_key(report["number"], _modifiers(report["fmods"]), report["final"])
    modifiers = _modifiers(report["mods"] or report["xmods"] or "1")
    code = int(report["code"] or report["xcode"])
    if modifiers & (_ALT | _CONTROL) and code > _LAST_OF_LATIN and report["base"]:
        code = int(report["base"])
    if code in _PRIVATE:
        return _KEYPAD.get(code, "")
    if code in {_ENTER, _ESCAPE, _TAB, _BACKSPACE}:
        return _named_key(code, modifiers)
    shifted = int(report["shifted"] or 0)
    return _letter(code, shifted, modifiers)


def _modifiers(told: str) -> int:
    return (int(told) - 1) & _KNOWN


def _function_key(number: str, modifiers: int, final: str) -> str:
    if modifiers:
        return f"\x1b[{number};{modifiers + 1}{final}"
    return f"\x1b[{number}~" if final == "~" else f"\x1b{'O' if final in 'PQRS' else '['}{final}"


def _named_key(code: int, modifiers: int) -> str:
    if code == _ENTER:
        return "\x1b\r" if modifiers & (_SHIFT | _ALT) else "\r"
    if code == _TAB and modifiers & _SHIFT:
        return "\x1b[Z"
    if code == _BACKSPACE and modifiers & _CONTROL:
        return "\x08"
    return ("\x1b" if modifiers & _ALT else "") + chr(code)


def _letter(code: int, shifted: int, modifiers: int) -> str:
    letter = chr(code)
    if modifiers & _CONTROL:
        upper = letter.upper()
        letter = _CONTROLLED.get(letter) or (chr(ord(upper) & 31) if "@" <= upper <= "_" else letter)
    elif modifiers & _SHIFT:
        letter = chr(shifted) if shifted else letter.upper()
    return ("\x1b" if modifiers & _ALT else "") + letter
