"""Who speaks in a session, and so for whom it looks things up and in whose name it notes them.

People are named by the origin of their messages and notes; whoever owns the home is "", by whatever app. What
a child says and asks is in the name of those above it.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.store.protocol import SessionStore, Viewer
from hermes.types.actor import actor_of
from hermes.types.capabilities import Capabilities
from hermes.types.error import StoreError
from hermes.types.message import Message, begins_turn, speakers

if TYPE_CHECKING:
    from hermes.agent.session import Session

OWNER: Final = ""


class Speakers(Struct, frozen=True, kw_only=True):
    """Those who have spoken in the turn that runs, or in the last one, and all who have spoken so far."""

    turn: frozenset[str]
    everybody: frozenset[str]

    @property
    def one(self) -> str | None:
        """Who speaks in the turn; None where they are several."""
        return next(iter(self.turn)) if len(self.turn) == 1 else None


class _Talk(Struct, frozen=True, kw_only=True):
    """What was said in a session since when, as origins; the id of the session above it, and that one itself
    where it runs here.
    """

    turn: frozenset[str]
    everybody: frozenset[str]
    begun: float
    parent: str
    above: "Session | None"


async def speakers_in(session: "Session", spoken: Collection[str] = ()) -> Speakers:
    """Who speaks in a session; `spoken` are the origins of a turn that the log does not end with."""
    log, spec = session.whole_log, session.spec
    said = set(spoken or origins(log.turn)) or {spec.actor.origin}
    turn = frozenset((*said, *session.mailbox.senders))
    opened = (spec.actor.origin,) if spec.actor.is_user else ()
    talk = _Talk(
        turn=turn,
        everybody=turn.union(log.speakers, opened),
        begun=_begun(log.messages),
        parent=spec.parent,
        above=session.above,
    )
    return await _people(talk, session.services.store)


async def viewer_of(session: "Session") -> Viewer:
    """What a session may see: what all who have spoken in it may, within its bounds."""
    found = await speakers_in(session)
    return Viewer(bounds=seen_within(session), origins=found.everybody)


def seen_within(session: "Session") -> Capabilities:
    """The bounds within which a session looks things up. A child has fewer tools than the session it works
    for, which could look up the same and tell it.
    """
    top = session
    while top.above is not None:
        top = top.above
    return replace(session.spec.capabilities, tools=top.spec.capabilities.tools)


def origins(messages: Iterable[Message]) -> Iterator[str]:
    """The origins of those who speak in messages, in order, each as often as they do."""
    return (who for one in messages for who in speakers(one))


async def _people(talk: _Talk, store: SessionStore) -> Speakers:
    """The people behind origins: in a child, what is no user's is in the name of those above it."""
    above = Speakers(turn=frozenset({OWNER}), everybody=frozenset({OWNER}))
    if talk.parent and not all(actor_of(one).is_user for one in talk.everybody):
        above = await _above(talk, store)
    return Speakers(turn=_named(talk.turn, above.turn), everybody=_named(talk.everybody, above.everybody))


async def _above(talk: _Talk, store: SessionStore) -> Speakers:
    """Those in whose name a child works: of the turn of the session above it in which it began. Nobody where
    that cannot be told.
    """
    if (above := talk.above) is not None:
        log, parent, further = above.log, above.spec.parent, above.above
    else:
        try:
            stored = await store.read(talk.parent)
        except StoreError:
            return _nobody(f"the deleted session {talk.parent}")
        log, parent, further = stored.log, stored.row.parent, None
    everybody = frozenset(origins(log))
    if not everybody:
        return _nobody(f"the empty session {talk.parent}")
    turn = frozenset(origins(_turn_at(log, talk.begun)))
    above_it = _Talk(turn=turn, everybody=everybody, begun=_begun(log), parent=parent, above=further)
    return await _people(above_it, store)


def _nobody(name: str) -> Speakers:
    """One of whom nothing is known, and who knows nothing."""
    return Speakers(turn=frozenset({name}), everybody=frozenset({name}))


def _named(spoken: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The users among those who spoke, and for the rest these others."""
    users = frozenset(one for one in spoken if actor_of(one).is_user)
    return users if users and users == spoken else users | others


def _begun(log: Sequence[Message]) -> float:
    """When the first word was said; in a log without one it is still to come."""
    return log[0].at if log else math.inf


def _turn_at(log: Sequence[Message], at: float) -> Sequence[Message]:
    """The turn that ran at a time."""
    before = list(takewhile(lambda one: one.at <= at, log))
    first = next((place for place in reversed(range(len(before))) if begins_turn(before[place])), 0)
    return before[first:]
