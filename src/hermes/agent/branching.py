"""A session that begins with the log of another one, and goes its own way from there."""

from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import new_session_id
from hermes.store.protocol import SessionRow
from hermes.types.error import HermesError
from hermes.types.message import Message, User

_RUNNING = "A turn is running in this session; a branch begins at the end of a turn."


async def branch(session: Session, *, turns: int, title: str = "") -> SessionRow:
    """A new stored session with the first `turns` turns of this one, its prompt, tools and bounds; this one
    stays as it is. HermesError while a turn runs, and where it has no such turns.

    What is read from the log (pins, the plan, what came from outside, compactions) holds as it did then.
    Answers that were given for the session do not.
    """
    if session.busy:
        raise HermesError(_RUNNING)
    if not 1 <= turns <= session.turns:
        raise HermesError(f"There are {session.turns} turns here; a branch begins after one of them.")
    store, ports = session.services.store, session.services.ports
    stored, now = await store.read(session.id), ports.now()
    row = replace(
        stored.row,
        id=new_session_id(ports),
        title=title or (f"{session.title} (branch)" if session.title else ""),
        origin=session.id,
        created=now,
        updated=now,
    )
    await store.create(row, system=stored.system, tools=stored.tools, capabilities=stored.capabilities)
    await store.append(row.id, *first_turns(session.log, turns))
    return row


def first_turns(log: tuple[Message, ...], turns: int) -> tuple[Message, ...]:
    """A log up to the end of a turn."""
    users = [number for number, message in enumerate(log) if isinstance(message, User)]
    return log[: users[turns]] if turns < len(users) else log
