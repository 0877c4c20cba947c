"""Which results of tools came from outside: told by what the call reached, by the tool itself, or by a form
in the text that hides, encodes or forges.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from hermes.lib.lazy import import_object
from hermes.types.tool import ToolEntry

MOST: Final = 200_000
"""Longer results are scanned only so far; what the model gets is shorter."""

_NUMBERED: Final = re.compile(r"^\d{1,7}\|", re.MULTILINE)
_SHORT: Final = 2_000
_UNREACHED: Final = frozenset({4, 5, 6, 7, 35})
"""wget: network failure; curl: no proxy, no such host, no connection, no secure one."""

_DOWNLOAD: Final = re.compile(r"\s*(?:curl|wget)\s[^;&|`$()<>\n]*")
"""One such program alone, so that its exit code is what the command ended with."""


async def _nothing_more(name: str) -> str:
    return name


class Heard(msgspec.Struct):
    """The names of what the actions of one call read from outside, as they are authorized; `at_once` is told
    each before the action, and gives the name that the session knows it by. `command` is what a model wrote
    in the call, "" in a script's; `edits` are the changes that a person has said yes to in it, `asks` whether
    an answer is waited for, `acts` whether it may have done something already.
    """

    names: list[str] = []
    command: str = ""
    edits: list[str] = []
    asks: bool = False
    acts: bool = False
    at_once: Callable[[str], Awaitable[str]] = _nothing_more


_heard: ContextVar[Heard | None] = ContextVar("outside", default=None)


class _Ran(msgspec.Struct):
    """What says of a command's result that nothing came."""

    output: str
    exit_code: int


@contextmanager
def listening(
    at_once: Callable[[str], Awaitable[str]] = _nothing_more, command: str = ""
) -> Iterator[list[str]]:
    """The names of what the actions of one call read from outside, as they are authorized."""
    heard = Heard(at_once=at_once, command=command)
    token = _heard.set(heard)
    try:
        yield heard.names
    finally:
        _heard.reset(token)


def is_of_model(command: str) -> bool:
    """Whether a model wrote this command in the running call: no script made it of what it had read."""
    heard = _heard.get()
    return heard is not None and bool(command) and heard.command == command


def allow_edit(diff: str) -> None:
    """A person said yes to this change: all that the running call writes of it."""
    heard = _heard.get()
    if heard is not None and diff:
        heard.edits.append(diff)


def is_allowed_edit(diff: str) -> bool:
    """Whether a person has said yes to this change in the running call."""
    heard = _heard.get()
    return heard is not None and diff in heard.edits


@contextmanager
def asking() -> Iterator[None]:
    """The running call waits for an answer, and goes on waiting where it is cut short here."""
    heard = _heard.get() or Heard()
    heard.asks = True
    yield
    heard.asks = False


def begins() -> None:
    """The running call is about to do something."""
    heard = _heard.get()
    if heard is not None:
        heard.acts = True


def is_unbegun() -> bool:
    """Whether the running call waits for an answer before all that it could do."""
    heard = _heard.get()
    return heard is not None and heard.asks and not heard.acts


def tell(name: str) -> None:
    """An action of the running call reads this from outside."""
    heard = _heard.get()
    if heard is not None and name:
        heard.names.append(name)


async def tell_first(name: str) -> str:
    """The same before the action, which waits until that counts; the name that the session knows it by."""
    tell(name)
    heard = _heard.get()
    return await heard.at_once(name) if heard is not None and name else name


def origin(entry: ToolEntry | None, content: str, heard: Sequence[str], command: str = "") -> str:
    """The name of the outside that a result came from; "" when it is the user's own. `command` is what ran,
    if it was one.
    """
    if heard:
        return "" if _DOWNLOAD.fullmatch(command) and _never_connected(content) else heard[0]
    if name := named_outside(entry):
        return name
    spans = import_object("hermes.safety.text.scan:scan")(
        words(content[:MOST])
    )  # what it takes is imported when the first tool ran
    return (
        f"a result of {entry.name if entry else 'a tool'} with {spans[0].kind} text ({spans[0].rule})"
        if spans
        else ""
    )


def named_outside(entry: ToolEntry | None) -> str:
    """The name of a tool as a place outside, whatever it is asked; "" for one that is the user's own."""
    if entry is None or not import_object("hermes.safety.origins:is_outside")(entry):
        return ""
    server: str = import_object("hermes.safety.origins:server_name")(entry.source)
    return server or f"the tool {entry.name}"


def _never_connected(content: str) -> bool:
    """Whether a command printed nothing and ended with a code of curl or wget for having reached nobody."""
    if len(content) > _SHORT:
        return False
    try:
        found = msgspec.json.decode(content, type=_Ran)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeEncodeError):
        return False
    return not found.output and found.exit_code in _UNREACHED


def words(content: str) -> str:
    """What a result says: the strings of its JSON, without the numbers of lines."""
    if not content.startswith(("{", "[")):
        return content
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return content
    return _NUMBERED.sub("", "\n".join(_strings(found)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield str(name)
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
