"""Room in a session for its next request: asked for before it, after a refusal, or by a person."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes.agent.compaction.compactor import thrashes
from hermes.agent.context import ContextRequest
from hermes.types.error import ContextOverflow
from hermes.types.event import CompactionStarted, Notice
from hermes.types.message import Compaction

if TYPE_CHECKING:
    from hermes.agent.session import Session

OUTLINED = (
    "No model wrote a usable summary of the older messages, so the model sees a list of them and your own"
    " words; the log keeps everything."
)
LITTLE_SAVED = (
    "Summing up saved little twice, so it is not tried again by itself: /compress TOPIC keeps mostly what is"
    " about a topic, /new begins a new session."
)

TAKES_MORE = "The conversation could not be made short enough for {before}; this turn goes on with {after}."


async def make_room(session: "Session", overflow: ContextOverflow | None = None) -> bool:
    """Shorten what the model sees where the next request would be too long, or the last one was; whether that
    was done.
    """
    context, wanted = session.services.context, request_of(session)
    if overflow is None and not context.is_full(wanted):
        return False
    wanted = replace(wanted, asked_window=_asked_window(session))
    return await _append(session, context.make_room(wanted, overflow=overflow)) is not None


async def make_way(session: "Session", overflow: ContextOverflow, attempts: int) -> bool:
    """Have the request that was refused as too long fit: make room, if that may be tried so many times, else
    go on with a fallback that takes more; whether either was done.

    Each fallback is taken once, so that this comes to an end.
    """
    if attempts > 0 and await make_room(session, overflow):
        return True
    route, before = session.route, session.route.target.name
    roomier = route.next_roomier(overflow.failure)
    if roomier is None:
        return False
    route.move(roomier)
    session.emit(Notice(level="warning", text=TAKES_MORE.format(before=before, after=route.target.name)))
    return True


async def compact(session: "Session", focus: str) -> Compaction | None:
    """Shorten it because a person wants it."""
    wanted = replace(request_of(session), asked_window=_asked_window(session))
    return await _append(session, session.services.context.make_room(wanted, focus=focus))


def request_of(session: "Session") -> ContextRequest:
    """What room is to be made for."""
    services, endpoint = session.services, session.endpoint
    return ContextRequest(
        log=session.whole_log,
        endpoint=endpoint,
        system=session.instructions,
        tools=session.tools.definitions,
        reply=session.spec.options.max_output or endpoint.max_output or 0,
        ports=services.ports,
        ask=lambda question: session.ask_aside("compression", question),
        redact=services.redactor.redact,
    )


def _asked_window(session: "Session") -> int:
    """The smallest window of the models that may be asked for a record, in tokens."""
    routes = session.services.routes
    chain = routes.side_task("compression", session.endpoint).chain
    return min((one.endpoint.context_window for one in routes.chain_for(session, chain).targets), default=0)


def _outlined_before(session: "Session", entry: Compaction) -> bool:
    """Whether the user was told of a list in place of a record; once is enough."""
    return any(isinstance(one, Compaction) and one.fallback and one is not entry for one in session.log)


async def _append(session: "Session", making: Awaitable[Compaction | None]) -> Compaction | None:
    session.emit(CompactionStarted(tokens=session.context_tokens))
    known = thrashes(session.whole_log)
    entry = await making
    if entry is not None:
        await session.append(entry)
        if entry.fallback and not entry.saved_nothing and not _outlined_before(session, entry):
            session.emit(Notice(level="warning", text=OUTLINED))
        if thrashes(session.whole_log) and not known:
            session.emit(Notice(level="warning", text=LITTLE_SAVED))
    return entry
