"""What a child takes over from the session that opened it: bounds, and what was read from outside."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from hermes.safety.sources import Source, sources
from hermes.store.protocol import SessionStore
from hermes.types.capabilities import Capabilities
from hermes.types.error import StoreError

if TYPE_CHECKING:
    from hermes.agent.session import Session


async def bounds_of(session_id: str, running: Collection["Session"], store: SessionStore) -> Capabilities:
    """What a session may do at most, running or stored; StoreError when there is none."""
    found = _running(session_id, running)
    return found.spec.capabilities if found else (await store.read(session_id)).capabilities


async def read_by(session_id: str, running: Collection["Session"], store: SessionStore) -> tuple[Source, ...]:
    """What a session and its parents have read from outside; one that is gone may have. Nothing for ""."""
    if not session_id:
        return ()
    if found := _running(session_id, running):
        return sources(found.log, found.spec.outside)
    try:
        stored = await store.read(session_id)
    except StoreError:
        return (Source(name=f"the deleted session {session_id}", at=0.0),)
    return sources(stored.log, await read_by(stored.row.parent, running, store))


def _running(session_id: str, running: Collection["Session"]) -> "Session | None":
    return next((one for one in running if one.id == session_id), None)
