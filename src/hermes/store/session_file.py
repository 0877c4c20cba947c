"""A whole session as lines of JSON: the first says what it is, each further one is a message."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from hermes.lib.codec import mended
from hermes.lib.session_ids import is_issued, is_session_id
from hermes.store.protocol import SessionRow, SessionStore, StoredSession
from hermes.store.sessions import MESSAGES
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import StoreError
from hermes.types.message import Assistant, Compaction, Message

VERSION: Final = 1
FIRST_MESSAGE: Final = 2
"""The number of the line after the first."""
MOST: Final = 2**53
"""What is counted is less."""
LATEST: Final = 1e11
"""Seconds since 1970 that no clock shows: a later time cannot be told as a date everywhere."""


class _Header(Struct, frozen=True, kw_only=True):
    kind: str
    version: int
    session: SessionRow
    system: str
    tools: tuple[Any, ...] = ()
    capabilities: Capabilities = ALL
    messages: int | None = None


class SessionFile(Struct, frozen=True):
    """What a file holds of a session, and how many messages its first line announces; None in older files,
    which do not say it.
    """

    session: StoredSession
    announced: int | None = None


_headers = msgspec.json.Decoder(_Header)


def session_lines(stored: StoredSession) -> Iterator[bytes]:
    """The lines of a session, without their ends."""
    header = _Header(
        kind="session",
        version=VERSION,
        session=stored.row,
        system=stored.system,
        tools=stored.tools,
        capabilities=stored.capabilities,
        messages=len(stored.log),
    )
    yield _encoded(header)
    yield from map(MESSAGES.encode, stored.log)


def read_session(lines: Iterable[bytes]) -> SessionFile:
    """The session of such lines; StoreError with the number of the line that is none of it."""
    first, *rest = [*lines] or [b""]
    header = _header(first)
    session = StoredSession(
        row=header.session,
        system=header.system,
        tools=header.tools,
        capabilities=header.capabilities,
        log=tuple(_message(number, line) for number, line in enumerate(rest, FIRST_MESSAGE)),
        begun={},
    )
    return SessionFile(session, header.messages)


async def import_session(
    store: SessionStore, session: StoredSession, *, free_id: str, cwd: str, now: float
) -> SessionRow:
    """Store a session that was written elsewhere, whole or not at all; its log counts as text from outside.

    It keeps its id where that is one that Hermes gave and no session here has it, else it gets `free_id`. It
    works in `cwd`.
    """
    old, known = session.row, is_session_id(session.row.id)
    row = replace(
        old,
        id=old.id if is_issued(old.id) and not await _is_taken(store, old.id) else free_id,
        cwd=cwd,
        model="",  # whom its words go to is for the user to say, not for a file
        base_url="",
        parent="",
        origin="",
        outside=f"the imported session {old.id}" if known else "an imported session",
        created=now,
        updated=now,
    )
    await store.create(row, system=session.system, tools=session.tools, capabilities=session.capabilities)
    await store.append(row.id, *session.log)
    return row


async def _is_taken(store: SessionStore, session_id: str) -> bool:
    try:
        await store.read(session_id)
    except StoreError:
        return False
    return True


def _header(line: bytes) -> _Header:
    try:
        header = _headers.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"Line 1 does not begin a session: {error}.") from error
    if header.kind != "session":
        raise StoreError("Line 1 does not begin a session: its kind is another one.")
    if header.version > VERSION:
        raise StoreError(f"Line 1 is of a newer version ({header.version}) than this program reads.")
    return header


def _message(number: int, line: bytes) -> Message:
    try:
        message = MESSAGES.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"Line {number} is no message: {error}.") from error
    if not 0 <= message.at < LATEST:
        raise StoreError(f"Line {number} is no message: its time is none that a clock shows.")
    if not all(0 <= one < MOST for one in _counts(message)):
        raise StoreError(f"Line {number} is no message: it has a count below zero or beyond all counting.")
    return message


def _counts(message: Message) -> tuple[float, ...]:
    """What a message counts: tokens, money, or places in the log."""
    match message:
        case Assistant():
            return astuple(message.usage)
        case Compaction():
            return message.head, message.dropped, message.clip, message.before, message.after
        case _:
            return ()


def _encoded(header: _Header) -> bytes:
    try:
        return msgspec.json.encode(header)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(msgspec.to_builtins(header)))
