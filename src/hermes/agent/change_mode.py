"""What a person lets a session change: nothing in plan mode, else edits of the workspace, asked or not."""

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hermes.types.error import StoreError

if TYPE_CHECKING:
    from hermes.agent.session import Session


class ChangeMode(Struct, frozen=True, kw_only=True):
    """Nothing may change while `planning`; otherwise `asks_edits` says whether edits of the workspace ask
    (None: as the settings have it).
    """

    planning: bool = False
    asks_edits: bool | None = None


def left(kept: str) -> ChangeMode:
    """The mode of a session that is opened again; nothing may change where it cannot be read."""
    try:
        return msgspec.json.decode(kept, type=ChangeMode) if kept else ChangeMode()
    except msgspec.DecodeError:
        return ChangeMode(planning=True)


def stricter(one: ChangeMode, other: ChangeMode) -> ChangeMode:
    """What both of them let a session change."""
    asks = [mode.asks_edits for mode in (one, other) if mode.asks_edits is not None]
    return ChangeMode(planning=one.planning or other.planning, asks_edits=any(asks) if asks else None)


async def change(session: "Session", mode: ChangeMode) -> None:
    """Have a session in this mode from now on, and when it is opened again. StoreError when it cannot be
    kept: it holds here all the same where it is the stricter one.
    """
    before, session.mode = session.mode, mode
    try:
        await session.services.store.update(session.id, mode=msgspec.json.encode(mode).decode())
    except StoreError:
        session.mode = before if session.mode is mode and before.planning else session.mode
        raise
