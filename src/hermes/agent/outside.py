"""What a session and those that work beside it have read from outside: of what one has read, another can be
told by a file, so that it counts for all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hermes.agent.log import Log, first_turns, replay
from hermes.safety.sources import Source, joined, sources
from hermes.types.message import Message, ToolResult

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


async def read_before(session: "Session", turns: int) -> tuple[Source, ...]:
    """What a session has read from outside that still counts without the turns after its first `turns`: all
    of it, but what only those had read where nothing is left that they may have written.
    """
    earlier = first_turns(session.log, turns)
    later = session.log[len(earlier) :]
    if not later or not sources_of(session) or await _may_have_left(session, later, turns + 1):
        return sources_of(session)
    read = (*session.spec.outside, *session.whole_log.outside, *session.children.read_beside)
    return joined(sources(earlier), (one for one in read if one.at < later[0].at))


async def without_later(session: "Session", turns: int) -> Log:
    """The log of a session's first `turns` turns, with what counts all the same; that is in its row from now
    on.
    """
    read, kept = await read_before(session, turns), first_turns(session.log, turns)
    if names := names_of(read, kept):
        await session.services.store.update(session.id, outside=names)
    return replay(kept, read)


async def _may_have_left(session: "Session", turns: Sequence[Message], first: int) -> bool:
    """Whether something may be left of what turns wrote, the `first` of them by its number, or of what those
    wrote that work in the background.
    """
    if any(block.kind == "child" and block.outside for one in turns for block in getattr(one, "blocks", ())):
        return True
    running = (one for one in session.workspace.processes.list() if one.code is None)
    files = session.environment.turn_files
    if session.children.living or any(running) or files is None:
        return True
    return not await files.are_as_before(first)


def names_of(read: Iterable[Source], log: Iterable[Message]) -> str:
    """The names of what was read and is not in a log, a line each, as its row keeps them."""
    known = {one.name for one in sources(log)}
    return "\n".join(dict.fromkeys(one.name for one in read if one.name not in known))


async def turns_undone(session: "Session") -> None:
    """Turns of a session are gone from its log: what only they had read and made counts no longer."""
    others = (one.whole_log.outside for one in _beside(session))
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
