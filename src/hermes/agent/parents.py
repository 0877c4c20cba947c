"""What a child takes over from the session that opened it: bounds, what was read from outside, how deep it
is, and what it may change.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from hermes.agent.change_mode import ChangeMode, left, stricter
from hermes.agent.outside import sources_of
from hermes.safety.sources import Source, sources
from hermes.store.protocol import SessionRow, SessionStore, StoredSession
from hermes.types.capabilities import Capabilities
from hermes.types.error import StoreError

if TYPE_CHECKING:
    from hermes.agent.session import Session

UNKNOWN_DEPTH: Final = 100


async def bounds_of(session_id: str, living: Collection["Session"], store: SessionStore) -> Capabilities:
    """What a session may do at most, running or stored; StoreError when there is none."""
    found = running(session_id, living)
    return found.spec.capabilities if found else (await store.read(session_id)).capabilities


async def read_by(session_id: str, living: Collection["Session"], store: SessionStore) -> tuple[Source, ...]:
    """What a session and its parents have read from outside; one that is gone may have. Nothing for ""."""
    if not session_id:
        return ()
    if found := running(session_id, living):
        return sources_of(found)
    try:
        stored = await store.read(session_id)
    except StoreError:
        return (Source(name=f"the deleted session {session_id}", at=0.0),)
    above = await read_by(stored.row.parent, living, store)
    return sources(stored.log, (*written_elsewhere(stored.row), *above))


async def mode_of(stored: StoredSession, living: Collection["Session"], store: SessionStore) -> ChangeMode:
    """What a session that is opened again may change: no more than those above it may, and nothing below one
    that is gone.
    """
    mode, parent = left(stored.mode), stored.row.parent
    if not parent:
        return mode
    if (found := running(parent, living)) and not found.closed:
        return stricter(mode, replace(found.mode, planning=found.is_planning))
    try:
        above = await store.read(parent)
    except StoreError:
        return replace(mode, planning=True)
    return stricter(mode, await mode_of(above, living, store))


def written_elsewhere(row: SessionRow) -> tuple[Source, ...]:
    """What a session has read from outside that its log does not tell: all of it, where that was not written
    here, and what turns have read that are not in it.
    """
    return tuple(Source(name=name, at=row.created) for name in row.outside.splitlines())


async def depth_below(parent: str, living: Collection["Session"], store: SessionStore) -> int:
    """How many sessions there are above a child of this one; below one that is gone, more than may be. 0 for
    "".
    """
    if not parent:
        return 0
    if found := running(parent, living):
        return found.spec.depth + 1
    try:
        row = (await store.read(parent)).row
    except StoreError:
        return UNKNOWN_DEPTH
    return 1 + await depth_below(row.parent, living, store)


def running(session_id: str, living: Collection["Session"]) -> "Session | None":
    """The session of that id, where it is in use here."""
    return next((one for one in living if one.id == session_id), None)
