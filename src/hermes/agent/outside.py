"""What a session and those that work beside it have read from outside: of what one has read, another can be
told by a file, so that it counts for all of them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hermes.safety.sources import Source, joined, sources
from hermes.types.message import ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session

UNDONE: Final = "turns of this session were undone, and with them what their scripts had made"


def sources_of(session: "Session") -> tuple[Source, ...]:
    """What a session has read from outside, as its log and those beside it tell; each once, in order."""
    return joined(session.spec.outside, session.whole_log.outside, session.children.read_beside)


async def protect(session: "Session") -> None:
    """Once text from outside was read, have those beside it know, and keep what runs on from before from
    planting instructions.
    """
    if found := sources_of(session):
        session.children.read_beside[:] = found
        for one in _beside(session):
            if one.opened is not None and one.opened.gate.read():
                await one.opened.workspace.protect_instructions()


async def count(session: "Session", provisional: ToolResult) -> None:
    """A call is about to read from outside: that counts at once, and where it is killed meanwhile, by what it
    is taken to have given then.
    """
    found, known = sources([provisional]), joined(session.spec.outside, session.whole_log.outside)
    if any(one.name == provisional.outside for one in known):
        return
    await session.services.store.finish(session.id, provisional)
    session.children.read_beside[:] = joined(session.children.read_beside, found)
    await protect(session)


async def settle(session: "Session", result: ToolResult, heard: Sequence[str]) -> None:
    """A call gave this, which no log has yet, or ever, if it was a script's: where it is from outside, that
    counts at once; where it is not after all, what was `heard` before counts no longer.
    """
    beside = session.children.read_beside
    if found := sources([result]):
        beside[:] = joined(beside, found)
        await protect(session)
    elif heard:
        logs = joined(*(one.whole_log.outside for one in _beside(session)))
        beside[:] = [one for one in beside if one.name not in heard or one in logs]


async def turns_undone(session: "Session") -> None:
    """Turns of a session are gone from its log: what only they had read and made counts no longer."""
    others = (one.whole_log.outside for one in _beside(session) if one is not session)
    session.children.read_beside[:] = joined(*others)
    if session.opened is not None:
        await session.opened.workspace.end_kernel(UNDONE)


def _beside(session: "Session") -> Iterator["Session"]:
    """The session that all of them work for, and its living children and theirs."""
    top = session
    while top.above is not None:
        top = top.above
    yield top
    yield from (run.session for _, run in top.children.tree() if run.session is not None)
