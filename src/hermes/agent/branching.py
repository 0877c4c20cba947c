"""A session that begins with the log of another one, and goes its own way from there."""

from msgspec.structs import replace

from hermes.agent.log import first_turns
from hermes.agent.outside import names_of, read_before
from hermes.agent.session import Session
from hermes.agent.spec import new_session_id
from hermes.store.protocol import SessionRow
from hermes.types.error import HermesError

_RUNNING = "A turn is running in this session; a branch begins at the end of a turn."


async def branch(session: Session, *, turns: int, title: str = "") -> SessionRow:
    """A new stored session with the first `turns` turns of this one, its prompt, tools and bounds; this one
    stays as it is. HermesError while a turn runs, and where it has no such turns.

    What is read from the log (pins, the plan, compactions) holds as it did then. What came from outside
    holds as after an undo of the later turns. Plan mode goes on, and edits ask as they did; answers that were
    given for the session do not hold.
    """
    if session.busy:
        raise HermesError(_RUNNING)
    if not 1 <= turns <= session.turns:
        raise HermesError(f"There are {session.turns} turns here; a branch begins after one of them.")
    store, ports = session.services.store, session.services.ports
    stored, now = await store.read(session.id), ports.now()
    log = first_turns(session.log, turns)
    row = replace(
        stored.row,
        id=new_session_id(ports),
        title=title or (f"{session.title} (branch)" if session.title else ""),
        origin=session.id,
        outside=names_of(await read_before(session, turns), log),
        created=now,
        updated=now,
    )
    await store.create(row, system=stored.system, tools=stored.tools, capabilities=stored.capabilities)
    await store.update(row.id, mode=stored.mode)
    await store.append(row.id, *log)
    return row
