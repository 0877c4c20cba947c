"""What matchers of Claude Code fit: lists of plain names, and patterns for any part of a name."""

import re
from collections.abc import Sequence
from typing import Final

_LIST: Final = re.compile(r"[\w|, -]*")
_NAMED_GROUP: Final = re.compile(r"(?<!\\)\(\?<(?=\w)")
_OF_GROUP: Final = re.compile(r"(?<!\\)\\k<(\w+)>")


def fault_of(matcher: str) -> str:
    """Why a matcher is none; "" where it is one."""
    try:
        _pattern(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        return f"its matcher {matcher} is no pattern: {error}"
    return ""


def fitting(matcher: str, names: Sequence[str]) -> str | None:
    """The first of the names that a matcher fits, "" where there is none to fit."""
    if matcher in {"", "*"} or not names:
        return next(iter(names), "")
    if _LIST.fullmatch(matcher):
        wanted = {one.strip() for one in re.split(r"[|,]", matcher)}
        return next((one for one in names if one in wanted), None)
    pattern = _pattern(matcher)
    return next((one for one in names if pattern.search(one)), None)


def _pattern(matcher: str) -> re.Pattern[str]:
    """The pattern, with its named groups as they are written here."""
    text = "" if matcher == "*" else _NAMED_GROUP.sub("(?P<", matcher)
    return re.compile(_OF_GROUP.sub(r"(?P=\1)", text))
